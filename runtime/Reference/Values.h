//===- Values.h - The elements of a view as doubles -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_VALUES_H
#define ATTN_REFERENCE_VALUES_H

#include "attn/error.h"
#include "attn/tensor_view.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::reference {

/// Number of elements of a shape. An error, which begins with `name`, for a
/// negative size or a number that no memory holds.
Expected<std::int64_t> countElements(const std::string &name,
                                     std::span<const std::int64_t> shape);

/// All elements of `view` in row-major order, whatever its strides. Every f32,
/// f16, bf16, float of 8 bits, i32, i16, i8 and i1 is exactly a double; an i64
/// beyond 2^53 is rounded.
Expected<std::vector<double>> toDoubles(const std::string &name,
                                        const TensorView &view);

/// `value` rounded to a float type, to nearest even.
double roundTo(ElementType type, double value);

} // namespace attn::reference

#endif // ATTN_REFERENCE_VALUES_H

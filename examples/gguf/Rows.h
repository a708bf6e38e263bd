//===- Rows.h - Rows of tensors as numbers ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_GGUF_ROWS_H
#define ATTN_EXAMPLES_GGUF_ROWS_H

#include "examples/gguf/File.h"

#include <cstdint>
#include <span>

namespace gguf {

/// Writes row `row` of a matrix or vector, `tensor.sizes.back()` elements, as
/// f32. A block of Q8_0 is a factor d (f16) and 32 numbers (i8), of Q4_1 d and
/// an offset m (f16) and 32 numbers of 4 bits, those of its first half in the
/// lower ones:
///
///     q8_0: x[i] = d * q[i]        q4_1: x[i] = d * q[i] + m
void dequantizeRow(const Tensor &tensor, std::int64_t row,
                   std::span<float> result);

} // namespace gguf

#endif // ATTN_EXAMPLES_GGUF_ROWS_H

//===- Philox.h - Philox-4x32-10 as scalar code -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_PHILOX_H
#define ATTN_REGIONS_PHILOX_H

#include "dialect/Shared/IndexBuilder.h"

#include <array>

namespace mlir::attn {

/// Emits the two i32 words of a seed of i64.
std::array<Value, 2> buildPhiloxKey(IndexBuilder &b, Value seed);

/// Emits the i1 that an element is kept with which dropout drops others at
/// `rate`: whether word `column mod 4` of Philox-4x32-10 (Salmon et al.,
/// "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011) is at least
/// `rate * 2^32`. The counter is `(column / 4, row, line, call)`, each reduced
/// to 32 bits. `call` is of i32, the others are index; `column` is not
/// negative.
Value buildIsKept(IndexBuilder &b, double rate, std::array<Value, 2> key,
                  Value column, Value row, Value line, Value call);

} // namespace mlir::attn

#endif // ATTN_REGIONS_PHILOX_H

//===- Philox.h - Philox-4x32-10 as scalar code -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ATTNTOLINALG_PHILOX_H
#define ATTN_CONVERSION_ATTNTOLINALG_PHILOX_H

#include "mlir/IR/Builders.h"

#include <array>

namespace mlir::attn {

/// Emits Philox-4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1,
/// 2, 3", SC 2011): four random i32 words from a counter of four i32 words and
/// a key of two.
std::array<Value, 4> buildPhilox(OpBuilder &builder, Location loc,
                                 std::array<Value, 4> counter,
                                 std::array<Value, 2> key);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOLINALG_PHILOX_H

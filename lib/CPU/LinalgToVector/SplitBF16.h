//===- SplitBF16.h - Vectors of even and odd elements -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// bf16 is the upper half of f32, so that a vector of 32 bits that holds two of
// them becomes the even ones by a shift and the odd ones by a mask: half of
// what widening them in their order costs.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_SPLITBF16_H
#define ATTN_CPU_LINALGTOVECTOR_SPLITBF16_H

#include "mlir/IR/Builders.h"

#include <utility>

namespace mlir::attn {

/// Loads `2 * width` contiguous bf16 as f32, the even and the odd ones.
std::pair<Value, Value> loadSplit(OpBuilder &b, Location loc, Value buffer,
                                  ValueRange indices, int64_t width);

/// The even and the odd lanes of two vectors, one after the other.
std::pair<Value, Value> splitLanes(OpBuilder &b, Location loc, Value first,
                                   Value second);

/// The reverse of that.
std::pair<Value, Value> joinLanes(OpBuilder &b, Location loc, Value even,
                                  Value odd);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_SPLITBF16_H

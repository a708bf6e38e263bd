//===- LaterIteration.h - What a loop computes later ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_LATERITERATION_H
#define ATTN_MEMORY_LATERITERATION_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::attn {

/// What an iteration of a loop with one induction variable computes, for one
/// that is `distance` later.
class LaterIteration {
public:
  /// The last iterations are their own later ones.
  LaterIteration(OpBuilder &b, LoopLikeOpInterface loop, int64_t distance = 1);

  /// For the iteration in which the induction variable is `iv`.
  LaterIteration(OpBuilder &b, LoopLikeOpInterface loop, Value iv);

  /// Of a value that is computed in the loop, where loops in between are in the
  /// same iteration. Null if it can not be computed ahead.
  Value get(Value value);

private:
  OpBuilder &b;
  LoopLikeOpInterface loop;
  IRMapping mapping;
};

/// Whether `value` is computed from `iv`, by operations of which a view counts
/// with where it begins.
bool dependsOn(Value value, Value iv);

/// Whether no two iterations of the parallel loops around a view read the same
/// of it, as far as that is seen.
bool isReadOnce(Value view);

} // namespace mlir::attn

#endif // ATTN_MEMORY_LATERITERATION_H

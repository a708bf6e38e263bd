//===- Mutations.h - What may be left out of IR -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNREDUCE_MUTATIONS_H
#define ATTN_TOOLS_ATTNREDUCE_MUTATIONS_H

#include "mlir/IR/Operation.h"

namespace mlir::attn {

/// Makes IR smaller at an operation, in one of several ways.
struct Mutation {
  unsigned (*countWays)(Operation *op);
  /// Fails, having changed nothing, where there is nothing to leave out in this
  /// way. What is left may be invalid.
  LogicalResult (*apply)(Operation *op, unsigned way);
};

/// All there are, those that leave out the most first.
ArrayRef<Mutation> getMutations();

} // namespace mlir::attn

#endif // ATTN_TOOLS_ATTNREDUCE_MUTATIONS_H

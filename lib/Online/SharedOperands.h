//===- SharedOperands.h - Packed values for all tiles -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_SHAREDOPERANDS_H
#define ATTN_ONLINE_SHAREDOPERANDS_H

#include "dialect/Shared/IndexBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn {

/// Whether dimension `dim` of a loop is known to have one iteration.
bool hasOneIteration(scf::ForallOp loop, unsigned dim);

/// The outermost parallel loop around `block` that `value` comes from outside
/// of; or null.
scf::ForallOp findOutermostLoop(Block *block, Value value);

/// Values in the form that instructions want. What a tile's operand is a slice
/// of is packed as a whole, once, outside of the parallel loops around the
/// insertion point, for all the tiles and heads that use it.
class SharedOperands {
public:
  /// The packs `(ceil(n/32), Dv, 32)` of `value`, `(1, 1, n, Dv)`, for
  /// instructions on pairs.
  Value getPacks(IndexBuilder &b, Value value);

private:
  /// By what is packed and where.
  llvm::DenseMap<std::pair<Value, Block *>, Value> packs;
};

} // namespace mlir::attn

#endif // ATTN_ONLINE_SHAREDOPERANDS_H

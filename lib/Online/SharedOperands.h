//===- SharedOperands.h - Packed values for all tiles -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_SHAREDOPERANDS_H
#define ATTN_ONLINE_SHAREDOPERANDS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn {

/// Whether a parallel loop over batch entries, heads and tiles of queries, or
/// over those of them of which there are several, has one tile for each batch
/// entry and head: each tile writes the same rows of its head.
bool hasOneTile(scf::ForallOp loop);

/// Whether dimension `dim` of a loop is known to have one iteration.
bool hasOneIteration(scf::ForallOp loop, unsigned dim);

/// Whether tiles of a loop may keep packs of `operand`, `(1, 1, n, D)`, for the
/// next ones on the same thread: several tiles take the same head of a tensor
/// that is there before the loop, which is in no other.
bool canKeepPacks(scf::ForallOp tiles, Value operand);

/// Whether no two tiles of the parallel loop around the insertion point of `b`
/// read the same of `operand`, `(1, 1, n, D)`.
bool isReadByOneTile(OpBuilder &b, Value operand);

/// Values in the form that instructions want. What a tile's operand is a slice
/// of is packed as a whole, once, outside of the parallel loops around the
/// insertion point, for all the tiles and heads that use it.
class SharedOperands {
public:
  /// The packs `(ceil(n/32), Dv, 32)` of `value`, `(1, 1, n, Dv)`, for
  /// instructions on pairs.
  Value getPacks(OpBuilder &b, Location loc, Value value);

private:
  /// By what is packed and where.
  llvm::DenseMap<std::pair<Value, Block *>, Value> packs;
};

} // namespace mlir::attn

#endif // ATTN_ONLINE_SHAREDOPERANDS_H

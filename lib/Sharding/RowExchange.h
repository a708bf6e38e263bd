//===- RowExchange.h - Rows of a rank, of all, and of heads -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_ROWEXCHANGE_H
#define ATTN_SHARDING_ROWEXCHANGE_H

#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/Extents.h"

namespace mlir::attn {

/// Distributes what ranks have of an attention, or of its gradients, whose rows
/// of query and key are split along one axis, in another way. Tensors are
/// `(B, H, S, D)`, or `(B, H, S)`.
class RowExchange {
public:
  RowExchange(IndexBuilder &b, const AttentionExtents &extents)
      : b(b), extents(extents) {}

  /// Of the attention on a rank that has all keys, and of that on one that has
  /// all rows of its share of some heads.
  AttentionExtents getOfAllKeys();
  AttentionExtents getOfHeads(int64_t heads);

  /// Keys or values of all ranks, from those of one.
  Value gatherKeys(Value part);
  /// Sums of what all ranks have of all keys, f32 or f64: as many rows as
  /// `like` has, those of this rank.
  Value addKeys(Value all, Value like);
  /// The share of the heads, with all rows, from rows of all heads.
  Value shareHeads(Value rows, const Extent &ofRows);
  /// The way back, to as many rows and heads as `like` has.
  Value toRows(Value heads, const Extent &ofRows, Value like);

private:
  Value getBounds(const Extent &rows);
  Value reshard(Reshard kind, Value part, const Extent &ofRows, int64_t heads,
                Value rows);

  IndexBuilder &b;
  const AttentionExtents &extents;
  /// Of queries and of keys, once they are asked for.
  Value boundsOfQueries, boundsOfKeys;
};

} // namespace mlir::attn

#endif // ATTN_SHARDING_ROWEXCHANGE_H

//===- Extents.h - Which part of a dimension is a rank's --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_EXTENTS_H
#define ATTN_SHARDING_EXTENTS_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// One dimension of a tensor that may be split among the ranks of an axis.
struct Extent {
  /// Of the whole.
  Value total;
  /// Of the part of a rank, where it is the same for all; or null.
  Value share;
  /// `(ranks + 1)` of index: where the part of each rank begins, and the end;
  /// null if `share` is not.
  Value bounds;
  /// The number of this rank along the axis.
  Value self;

  /// The first of the part of a rank.
  Value first(IndexBuilder &b, Value rank) const {
    if (share)
      return b.mul(rank, share);
    return tensor::ExtractOp::create(b, bounds, rank);
  }
  Value count(IndexBuilder &b, Value rank) const {
    if (share)
      return share;
    Value next = b.add(rank, 1);
    Value end = tensor::ExtractOp::create(b, bounds, next);
    return b.sub(end, first(b, rank));
  }
  Value first(IndexBuilder &b) const { return first(b, self); }
  Value count(IndexBuilder &b) const { return count(b, self); }
};

/// Those of an attention, and how many ranks there are along an axis, 1 where a
/// dimension is whole.
struct AttentionExtents {
  Extent batch, heads, queries, keys;
  int64_t numQueryRanks = 1, numKeyRanks = 1;
  /// Between ranks along the axis of the keys.
  int64_t keyStride = 1;
  /// Queries and keys are split along one axis.
  bool isRing = false;
};

} // namespace mlir::attn

#endif // ATTN_SHARDING_EXTENTS_H

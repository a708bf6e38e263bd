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

/// One dimension of a tensor that may be split among the ranks of an axis, into
/// pieces that follow each other: one of each rank, in their order, or two of
/// each in zig-zag order.
struct Extent {
  /// Of the whole.
  Value total;
  /// Of a piece, where it is the same for all; or null.
  Value share;
  /// `(pieces + 1)` of index: where each piece begins, and the end; null if
  /// `share` is not.
  Value bounds;
  /// The number of this rank along the axis.
  Value self;

  /// The first of a piece.
  Value first(IndexBuilder &b, Value piece) const {
    if (share)
      return b.mul(piece, share);
    return b.load(bounds, piece);
  }
  Value count(IndexBuilder &b, Value piece) const {
    if (share)
      return share;
    Value next = b.add(piece, 1);
    Value end = b.load(bounds, next);
    return b.sub(end, first(b, piece));
  }
  /// Of the one piece of this rank.
  Value first(IndexBuilder &b) const { return first(b, self); }
  Value count(IndexBuilder &b) const { return count(b, self); }
  /// Every rank has all of it.
  bool isWhole() const { return share && share == total; }

  /// What of the whole element `i` of this rank is, of whose pieces it has two
  /// where that is given: in zig-zag order of so many ranks.
  Value at(IndexBuilder &b, Value i,
           std::optional<int64_t> zigzagRanks = std::nullopt) const {
    Value ofFirst = b.add(i, first(b));
    if (!zigzagRanks)
      return ofFirst;
    Value second = b.sub(2 * *zigzagRanks - 1, self);
    Value numFirst = count(b);
    Value ofSecond = b.add(b.sub(i, numFirst), first(b, second));
    return b.select(b.isLess(i, numFirst), ofFirst, ofSecond);
  }
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
  /// Rank `r` of `n` has the pieces `r` and `2 n - 1 - r` of queries and keys.
  bool isZigzag = false;

  int64_t getNumSlots() const { return isZigzag ? 2 : 1; }
  /// The piece that a rank has first, in slot 0, or after that.
  Value getPiece(IndexBuilder &b, Value rank, Value slot) const {
    if (!isZigzag)
      return rank;
    Value mirrored = b.sub(2 * numQueryRanks - 1, rank);
    return b.select(b.isEqual(slot, 0), rank, mirrored);
  }
  /// Where the piece in a slot begins in the part of a rank.
  Value getSlotBegin(IndexBuilder &b, const Extent &rows, Value rank,
                     Value slot) const {
    if (!isZigzag)
      return b.index(0);
    Value ofFirst = rows.count(b, rank);
    return b.select(b.isEqual(slot, 0), 0, ofFirst);
  }
};

} // namespace mlir::attn

#endif // ATTN_SHARDING_EXTENTS_H

//===- RingPieces.h - Blocks that go around, and their pieces ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_RINGPIECES_H
#define ATTN_SHARDING_RINGPIECES_H

#include "dialect/AttnOps.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/BlockForm.h"

namespace mlir::attn {

/// The keys and values that this rank needs in a step.
RankBlockOp createRankBlock(IndexBuilder &b, Value step, Value key, Value value,
                            Value spans, const AttentionExtents &extents);

/// A piece of the queries of this rank, and one of the keys of rank `from`.
struct PiecePair {
  Value from, querySlot, keySlot, queryPiece, keyPiece;
};
/// The pair of a number, below the square of the slots.
PiecePair createPiecePair(IndexBuilder &b, const AttentionExtents &extents,
                          Value from, Value number);

/// Where the rows of such a pair that see any, and what they see, lie in the
/// tensors of the rank and in the block, and in the whole.
struct PiecePlaces {
  RowSpan queries, queriesOfWhole;
  RowSpan keys, keysOfWhole;
};
/// `visible` says what of the piece of the keys is seen. Of attn.attention and
/// of attn.attention_backward.
template <typename Op>
PiecePlaces
createPiecePlaces(IndexBuilder &b, Op whole, const AttentionExtents &extents,
                  RankBlockOp block, const PiecePair &pair, RowSpan visible);

/// The place of some rows of a tensor (B, H, S) or (B, H, S, D).
IndexBuilder::Box getRowBox(IndexBuilder &b, Value of, RowSpan rows);

} // namespace mlir::attn

#endif // ATTN_SHARDING_RINGPIECES_H

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

/// Where the rows of a piece of the queries of this rank that see any keys of a
/// piece of a block, and these, lie in the tensors of the rank and in the
/// block, and in the whole.
struct PiecePlaces {
  RowSpan queries, queriesOfWhole;
  RowSpan keys, keysOfWhole;
};
/// What `emit` makes of what is carried, for each pair of a piece of the
/// queries and one of a block, that of rank `from`, which may see each other.
/// Of attn.attention and of attn.attention_backward.
template <typename Op>
SmallVector<Value> visitPieces(
    IndexBuilder &b, Op whole, const AttentionExtents &extents,
    RankBlockOp block, Value from, ValueRange carried,
    function_ref<SmallVector<Value>(ValueRange, const PiecePlaces &)> emit);

/// The place of some rows of a tensor (B, H, S) or (B, H, S, D).
IndexBuilder::Box getRowBox(IndexBuilder &b, Value of, RowSpan rows);

} // namespace mlir::attn

#endif // ATTN_SHARDING_RINGPIECES_H

//===- AttentionTile.h - Tiles of queries in parallel loops -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_ATTENTIONTILE_H
#define ATTN_ATTENTION_ATTENTIONTILE_H

#include "dialect/AttnDialect.h"
#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

class IndexBuilder;
struct TileShape;

/// The rows of queries of a tile.
struct QueryRows {
  OpFoldResult first, count;
};

/// The rows of the tile at `iv`, of `queries` but for a smaller one, which has
/// the first rows rather than the last: a causal mask leaves those the fewest
/// keys to waste lanes on.
QueryRows emitQueryRows(OpBuilder &b, Location loc, Value iv,
                        OpFoldResult length, int64_t queries);

/// The attn.merge of what `op` computes with what there is before it, if
/// nothing else reads that; null if there is none. A tile can merge its own
/// part.
MergeOp getFusableMerge(AttentionOp op);

/// How sequences are computed that have more queries than one number, and at
/// most another one if there is a bound.
struct SequenceForm {
  /// Of a tile: query heads, one or those of a group, and queries of each.
  int64_t heads, queries;
  int64_t moreThan = 0;
  std::optional<int64_t> atMost = std::nullopt;
  PlanAttr plan = {}; ///< Of a tile; null if it is to be planned.
  /// Whether a tile fetches rows of the next one of its sequence.
  bool fetchesNext = false;
};

/// Replaces a ragged batch by parallel loops over heads and tiles of queries,
/// one for each of `forms`, in which each tile finds its sequence. Fails if the
/// sequences can not be tiled.
LogicalResult tileSequences(RewriterBase &rewriter, AttentionOp op,
                            ArrayRef<SequenceForm> forms);

/// Whether a row of a ragged batch is one of a sequence's queries (A7).
Value emitIsOfSequence(IndexBuilder &b, AttentionOp op, Value batch, Value row);

/// Computes the ranges of what the masks of `ops` load, and of what says where
/// their scores load, in blocks of a tile, right after the tables' definitions.
void summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                     TileShape tile);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_ATTENTIONTILE_H

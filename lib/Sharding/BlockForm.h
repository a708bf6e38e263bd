//===- BlockForm.h - An attention over a part of its rows -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_BLOCKFORM_H
#define ATTN_SHARDING_BLOCKFORM_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/Extents.h"

namespace mlir::attn {

// Templates are of attn.attention and of attn.attention_backward.

/// Rows of queries or of keys: the first one, and how many.
struct RowSpan {
  Value first, count;
};

/// The position of the first query, and the numbers of queries and keys, of
/// batch entry or sequence `n` of the whole.
struct SequenceRows {
  /// Rows of the tensors, `begin <= row < end`.
  Value queryBegin, queryEnd, keyBegin, keyEnd;
  /// Of the row `queryBegin`.
  Value position;
};
template <typename Op>
SequenceRows emitSequenceRows(IndexBuilder &b, Op whole,
                              const AttentionExtents &extents, Value n);

/// What of an attention is the same for all blocks of keys.
struct BlockOperands {
  Value query;
  RowSpan queries;
  /// Of gradients: outputs, log-sum-exps, and the gradients of these, of the
  /// same rows.
  SmallVector<Value> ofRows = {};
};

/// Emits the attention of a block of keys, or its gradients, whose regions see
/// what those of `whole` do. `outs` are an output and, if there is a second
/// one, a log-sum-exp; or gradients, but not that of the sink. It has no sink.
template <typename Op>
Op emitBlock(IndexBuilder &b, Op whole, const AttentionExtents &extents,
             const BlockOperands &queries, Value key, Value value, RowSpan keys,
             ValueRange outs);

} // namespace mlir::attn

#endif // ATTN_SHARDING_BLOCKFORM_H

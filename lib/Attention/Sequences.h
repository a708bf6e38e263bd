//===- Sequences.h - Sequences of a packed batch ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_SEQUENCES_H
#define ATTN_ATTENTION_SEQUENCES_H

#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Rows of the packed batch (dimension 2) that are one sequence's, indices.
struct SequenceRows {
  Value first, count;
};

/// Emits how many sequences there are (A7), an index.
Value emitNumSequences(OpBuilder &b, AttentionOp op);

/// Emits element `n` of cumulative lengths, a tensor, as an index.
Value emitBound(OpBuilder &b, Location loc, Value cumulative, Value n);

/// Emits the rows of sequence `n`, by its cumulative lengths.
SequenceRows emitSequenceRows(OpBuilder &b, Location loc, Value cumulative,
                              Value n);

/// Emits the slice of some rows of a tensor of the packed batch.
Value extractRows(OpBuilder &b, Location loc, Value tensor, SequenceRows rows);

/// Emits the attention of sequence `n` of the packed batch `op`, on slices of
/// its query, key and value, into `outs`, which have the rows of `queries`.
AttentionOp emitSequence(OpBuilder &b, AttentionOp op, Value n,
                         SequenceRows queries, SequenceRows keys,
                         ValueRange outs);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_SEQUENCES_H

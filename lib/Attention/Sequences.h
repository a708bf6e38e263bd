//===- Sequences.h - Sequences of a ragged batch ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_SEQUENCES_H
#define ATTN_ATTENTION_SEQUENCES_H

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// Some of the rows (dimension 2) of one batch entry of a tensor.
struct SequenceRows {
  OpFoldResult batch, first, count;
};

/// Emits where the sequences of an op are whose numbers of queries are their
/// own (A7). Batch entries of `counts` rows are laid out as if their rows
/// followed each other, so that both kinds are looked up the same way.
class Sequences {
public:
  Sequences(AttentionOp op, IndexBuilder &builder);

  /// How many sequences there are, and rows of all of them, indices.
  Value getNumber() const { return number; }
  Value getNumRows() const { return numRows; }
  /// The first row of sequence `n`, or what follows the last one's.
  Value emitBegin(Value n);
  /// Whether row `row` of entry `batch` is a sequence's.
  Value emitIsSome(Value batch, Value row);
  SequenceRows emitQueryRows(Value n);
  /// Of a key or a value.
  SequenceRows emitKeyRows(Value n, Value rows);

private:
  Value load(Value numbers, Value at);
  /// The range between elements `n` and `n + 1`.
  SequenceRows emitRange(Value cumulative, Value n);

  AttentionOp op;
  IndexBuilder &b;
  Value rowsOfEntry, number, numRows;
};

} // namespace mlir::attn

#endif // ATTN_ATTENTION_SEQUENCES_H

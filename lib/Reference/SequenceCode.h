//===- SequenceCode.h - Where sequences of a batch are ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_SEQUENCECODE_H
#define ATTN_REFERENCE_SEQUENCECODE_H

#include "lib/Reference/TensorCode.h"

namespace mlir::attn {

/// Rows and columns of one sequence, or of one batch entry.
struct Sequence {
  Value number;                                     ///< `b` in regions.
  OpFoldResult queryBatch, queryBegin, queryLength; ///< Rows of the queries.
  OpFoldResult keyBatch, keyBegin, keyLength;       ///< Of keys and values.
  Value offset; ///< Position of the first query row.
};

/// How many sequences an op has (A7), or else batch entries.
template <typename Op> Value emitNumSequences(TensorCode &b, Op op) {
  if (op.isPacked())
    return b.sub(b.dim(op.getCumulativeQuery(), 0), 1);
  return b.emitBatchSize(op.getQuery(), b.dim(op.getQuery(), 2));
}

/// Where sequence `n` is, of an op that may have sequences (A7).
template <typename Op> Sequence emitSequence(IndexBuilder &b, Op op, Value n) {
  OpFoldResult zero = b.getIndexAttr(0);
  auto emitRange = [&](Value cumulative) -> std::pair<Value, Value> {
    Value begin = b.loadIndex(cumulative, n),
          end = b.loadIndex(cumulative, b.add(n, 1));
    return {begin, b.sub(end, begin)};
  };
  Sequence sequence;
  sequence.number = n;
  sequence.queryBatch = sequence.keyBatch = n;
  sequence.queryBegin = sequence.keyBegin = zero;
  sequence.queryLength = b.size(op.getQuery(), 2);
  sequence.keyLength = b.size(op.getKey(), 2);
  if (op.getCounts())
    sequence.queryLength = op.createNumQueries(b, n);
  if (op.isPacked()) {
    sequence.queryBatch = zero;
    std::tie(sequence.queryBegin, sequence.queryLength) =
        emitRange(op.getCumulativeQuery());
  }
  if (op.getCumulativeKey()) {
    sequence.keyBatch = zero;
    std::tie(sequence.keyBegin, sequence.keyLength) =
        emitRange(op.getCumulativeKey());
  }
  sequence.offset = op.createFirstPosition(b, n, b.index(sequence.queryLength),
                                           b.index(sequence.keyLength)); // A5
  return sequence;
}

} // namespace mlir::attn

#endif // ATTN_REFERENCE_SEQUENCECODE_H

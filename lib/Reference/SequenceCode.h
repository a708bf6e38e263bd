//===- SequenceCode.h - Where sequences of a batch are ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_SEQUENCECODE_H
#define ATTN_REFERENCE_SEQUENCECODE_H

#include "lib/Reference/TensorCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {

/// Rows and columns of one sequence, or of one batch entry.
struct Sequence {
  Value number;               ///< `b` in regions.
  Value queryBatch, keyBatch; ///< Indices into the batch dimensions.
  Value queryBegin;           ///< First query row.
  Value queryLength;
  Value keyBegin; ///< First key/value row.
  Value keyLength;
  Value offset; ///< Position of the first query row.
};

/// What the attention ops that may have sequences (A7) say of them.
template <typename Op> class SequenceCode : TensorCode {
public:
  SequenceCode(OpBuilder &builder, Op op, Value zero)
      : TensorCode{builder, op.getLoc()}, op(op), zero(zero) {}

  Value emitCount() {
    if (op.isPacked()) // A7
      return subtract(dim(op.getCumulativeQuery(), 0), 1);
    return emitBatchSize(op.getQuery(), dim(op.getQuery(), 2), zero);
  }

  Sequence emit(Value n) {
    Sequence sequence;
    sequence.number = sequence.queryBatch = sequence.keyBatch = n;
    sequence.queryBegin = sequence.keyBegin = zero;
    sequence.queryLength =
        op.getCounts() ? op.createNumQueries(b, n) : dim(op.getQuery(), 2);
    sequence.keyLength = dim(op.getKey(), 2);
    if (op.isPacked()) { // A7
      sequence.queryBatch = zero;
      std::tie(sequence.queryBegin, sequence.queryLength) =
          emitRange(op.getCumulativeQuery(), n);
    }
    if (op.getCumulativeKey()) {
      sequence.keyBatch = zero;
      std::tie(sequence.keyBegin, sequence.keyLength) =
          emitRange(op.getCumulativeKey(), n);
    }
    sequence.offset = op.createFirstPosition(b, n, sequence.queryLength,
                                             sequence.keyLength); // A5
    return sequence;
  }

private:
  /// First row and number of rows of sequence `n`.
  std::pair<Value, Value> emitRange(Value cumulative, Value n) {
    Value begin = load(cumulative, n);
    Value end = load(cumulative, add(n, 1));
    return {begin, subtract(end, begin)};
  }

  Op op;
  Value zero;
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_SEQUENCECODE_H

//===- Sequences.cpp - Sequences of a ragged batch ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Sequences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

Sequences::Sequences(AttentionOp op, IndexBuilder &builder)
    : op(op), b(builder), rowsOfEntry(b.index(b.size(op.getQuery(), 2))) {
  if (op.isPacked()) {
    number = b.sub(b.size(op.getCumulativeQuery(), 0), 1);
    numRows = rowsOfEntry;
    return;
  }
  number = b.index(b.size(op.getQuery(), 0));
  numRows = b.mul(number, rowsOfEntry);
}

Value Sequences::load(Value numbers, Value at) {
  return b.createOrFold<arith::IndexCastOp>(
      b.getIndexType(), tensor::ExtractOp::create(b, numbers, at));
}

Value Sequences::emitBegin(Value n) {
  return op.isPacked() ? load(op.getCumulativeQuery(), n)
                       : b.mul(n, rowsOfEntry);
}

Value Sequences::emitIsSome(Value batch, Value row) {
  if (!op.isPacked())
    return b.isLess(row, load(op.getCounts(), batch));
  Value isAfter = b.isAtMost(emitBegin(b.index(0)), row);
  return b.bitAnd(isAfter, b.isLess(row, emitBegin(number)));
}

SequenceRows Sequences::emitRange(Value cumulative, Value n) {
  Value begin = load(cumulative, n), end = load(cumulative, b.add(n, 1));
  return {b.getIndexAttr(0), begin, b.sub(end, begin)};
}

SequenceRows Sequences::emitQueryRows(Value n) {
  if (op.isPacked())
    return emitRange(op.getCumulativeQuery(), n);
  return {n, b.getIndexAttr(0), load(op.getCounts(), n)};
}

SequenceRows Sequences::emitKeyRows(Value n, Value rows) {
  if (op.getCumulativeKey())
    return emitRange(op.getCumulativeKey(), n);
  return {n, b.getIndexAttr(0), b.size(rows, 2)};
}

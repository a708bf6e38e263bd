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

static Value index(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Sequences::Sequences(AttentionOp op, ImplicitLocOpBuilder &builder)
    : op(op), b(builder) {
  Value zero = index(b, b.getLoc(), 0);
  rowsOfEntry = b.createOrFold<tensor::DimOp>(op.getQuery(), 2);
  if (op.isPacked()) {
    number = b.createOrFold<arith::SubIOp>(
        b.createOrFold<tensor::DimOp>(op.getCumulativeQuery(), zero),
        index(b, b.getLoc(), 1));
    numRows = rowsOfEntry;
    return;
  }
  number = b.createOrFold<tensor::DimOp>(op.getQuery(), 0);
  numRows = b.createOrFold<arith::MulIOp>(number, rowsOfEntry);
}

Value Sequences::load(Value numbers, Value at) {
  return b.createOrFold<arith::IndexCastOp>(
      b.getIndexType(), tensor::ExtractOp::create(b, numbers, at));
}

Value Sequences::emitBegin(Value n) {
  return op.isPacked() ? load(op.getCumulativeQuery(), n)
                       : b.createOrFold<arith::MulIOp>(n, rowsOfEntry);
}

Value Sequences::emitIsSome(Value batch, Value row) {
  if (!op.isPacked())
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row,
                                 load(op.getCounts(), batch));
  Value isAfter = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row,
                                        emitBegin(index(b, b.getLoc(), 0)));
  Value isBefore = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row,
                                         emitBegin(number));
  return arith::AndIOp::create(b, isAfter, isBefore);
}

SequenceRows Sequences::emitRange(Value cumulative, Value n) {
  Value next = arith::AddIOp::create(b, n, index(b, b.getLoc(), 1));
  Value begin = load(cumulative, n), end = load(cumulative, next);
  return {b.getIndexAttr(0), begin, b.createOrFold<arith::SubIOp>(end, begin)};
}

SequenceRows Sequences::emitQueryRows(Value n) {
  if (op.isPacked())
    return emitRange(op.getCumulativeQuery(), n);
  return {n, b.getIndexAttr(0), load(op.getCounts(), n)};
}

SequenceRows Sequences::emitKeyRows(Value n, Value rows) {
  if (op.getCumulativeKey())
    return emitRange(op.getCumulativeKey(), n);
  return {n, b.getIndexAttr(0), tensor::getMixedSize(b, b.getLoc(), rows, 2)};
}

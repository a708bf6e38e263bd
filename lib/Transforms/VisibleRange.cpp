//===- VisibleRange.cpp - Keys that a tile of queries may see -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/VisibleRange.h"
#include "lib/Analysis/MaskAnalysis.h"
#include "lib/Analysis/TableRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

/// The number of rows of a matrix, in terms of what it is a slice of, as far as
/// that is known.
static Value emitNumRows(OpBuilder &b, Location loc, Value matrix) {
  OpFoldResult size = tensor::getMixedSize(b, loc, matrix, 0);
  if (auto result = dyn_cast<OpResult>(matrix); result && isa<Value>(size))
    if (FailureOr<OpFoldResult> reified = reifyDimOfResult(
            b, result.getOwner(), static_cast<int>(result.getResultNumber()),
            /*dim=*/0);
        succeeded(reified))
      size = *reified;
  return getValueOrCreateConstantIndexOp(b, loc, size);
}

RowRange attn::emitVisibleRange(OpBuilder &b, OnlineAttentionOp op,
                                int64_t block) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value count = emitNumRows(b, loc, op.getKey());
  if (!op.hasMask())
    return {zero, count};
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value end =
      b.createOrFold<arith::AddIOp>(loc, op.getPosition(), op.getNumQueries());
  IndexRange positions = {op.getPosition(),
                          b.createOrFold<arith::SubIOp>(loc, end, one)};
  Value numKeys = b.createOrFold<arith::AddIOp>(loc, op.getFirstKey(), count);
  VisibleKeys keys =
      emitVisibleKeys(b, loc, op.getMaskRegion(), op.getBatch(), op.getHead(),
                      positions, numKeys, op.getMaskCaptures());
  // To rows of the op's own keys, of which the visible ones may be none.
  Value low = keys.begin, high = keys.end;
  if (block > 0 &&
      hasBlocksOfKeys(b, op.getMaskRegion(), op.getMaskCaptures())) {
    Value size = arith::ConstantIndexOp::create(b, loc, block);
    Value rest = b.createOrFold<arith::RemUIOp>(loc, low, size);
    low = b.createOrFold<arith::SubIOp>(loc, low, rest);
  }
  if (!matchPattern(op.getFirstKey(), m_Zero())) {
    auto toRow = [&](Value key) {
      Value row = b.createOrFold<arith::SubIOp>(loc, key, op.getFirstKey());
      return b.createOrFold<arith::MaxSIOp>(loc, row, zero);
    };
    low = toRow(low);
    high = toRow(high);
  }
  return {low, high};
}

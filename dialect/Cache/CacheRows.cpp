//===- CacheRows.cpp - Where the rows of a cache lie ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Cache/CacheRows.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

CacheReadOp attn::getCacheRead(Value rows) {
  while (auto cast = rows.getDefiningOp<tensor::CastOp>())
    rows = cast.getSource();
  return rows.getDefiningOp<CacheReadOp>();
}

static Value loadIndex(OpBuilder &b, Location loc, Value tensor,
                       ValueRange indices) {
  return arith::IndexCastOp::create(
      b, loc, b.getIndexType(),
      tensor::ExtractOp::create(b, loc, tensor, indices));
}

template <typename Op>
static RowPlace createPlace(OpBuilder &b, Location loc, Op op, Value n,
                            Value position) {
  if (!op.isPaged() && !op.getRing()) // C1
    return {n, position};
  Value size = b.createOrFold<tensor::DimOp>(loc, op.getCache(), 2);
  Value row = arith::RemUIOp::create(b, loc, position, size);
  if (!op.isPaged()) // C2
    return {n, row};
  Value k = arith::DivUIOp::create(b, loc, position, size); // C3
  return {loadIndex(b, loc, op.getTable(), {n, k}), row};
}

RowPlace attn::createRowPlace(OpBuilder &builder, Location loc,
                              CacheAppendOp op, Value n, Value position) {
  return createPlace(builder, loc, op, n, position);
}

RowPlace attn::createRowPlace(OpBuilder &builder, Location loc, CacheReadOp op,
                              Value n, Value position) {
  return createPlace(builder, loc, op, n, position);
}

StoredPositions attn::createStoredPositions(OpBuilder &b, Location loc,
                                            CacheReadOp op, Value n) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value stored = loadIndex(b, loc, op.getLengths(), n);
  Value size = getValueOrCreateConstantIndexOp(b, loc, op.getMixedSize());
  Value end = arith::MinUIOp::create(b, loc, stored, size);
  if (!op.getRing())
    return {zero, end};
  Value capacity = createFirstDim(b, loc, op.getCache(), 2);
  Value begin = arith::SubIOp::create(b, loc, stored, capacity);
  begin = arith::MaxSIOp::create(b, loc, begin, zero);
  Value isEmpty =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, begin, end);
  return {arith::SelectOp::create(b, loc, isEmpty, zero, begin),
          arith::SelectOp::create(b, loc, isEmpty, zero, end)};
}

StoredRows attn::extractStoredRows(OpBuilder &b, Location loc, CacheReadOp op,
                                   Value n, OpFoldResult head,
                                   OpFoldResult numHeads, Value position,
                                   OpFoldResult count) {
  RowPlace place = createRowPlace(b, loc, op, n, position);
  SmallVector<OpFoldResult> offsets = {place.entry, head, place.row},
                            sizes = {b.getIndexAttr(1), numHeads, count},
                            strides(3, b.getIndexAttr(1));
  StoredRows rows;
  if (op.isQuantized())
    rows.scales = tensor::ExtractSliceOp::create(b, loc, op.getScales(),
                                                 offsets, sizes, strides);
  offsets.push_back(b.getIndexAttr(0));
  sizes.push_back(b.getIndexAttr(op.getHeadSize()));
  strides.push_back(b.getIndexAttr(1));
  rows.elements = tensor::ExtractSliceOp::create(b, loc, op.getCache(), offsets,
                                                 sizes, strides);
  return rows;
}

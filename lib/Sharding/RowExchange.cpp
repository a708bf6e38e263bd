//===- RowExchange.cpp - Rows of a rank, of all, and of heads -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/RowExchange.h"
#include "lib/Sharding/Annotations.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

static int64_t getNumHeads(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(kHeads);
}

static Extent makeWhole(IndexBuilder &b, const Extent &rows) {
  return {rows.total, rows.total, {}, b.index(0)};
}

AttentionExtents RowExchange::getOfAllKeys() {
  AttentionExtents of = extents;
  of.keys = makeWhole(b, extents.keys);
  of.numKeyRanks = 1;
  of.isRing = false;
  return of;
}

AttentionExtents RowExchange::getOfHeads(int64_t heads) {
  AttentionExtents of = getOfAllKeys();
  of.queries = makeWhole(b, extents.queries);
  // Those of this rank along the axis of heads, if they are split too, are
  // shared.
  int64_t ranks = extents.numKeyRanks;
  of.heads = {extents.heads.total,
              b.index(heads / ranks),
              {},
              b.add(b.mul(extents.heads.self, ranks), extents.keys.self)};
  of.numQueryRanks = 1;
  of.isZigzag = false;
  return of;
}

/// Where the pieces of rows begin, and the end.
Value RowExchange::getBounds(const Extent &rows) {
  if (rows.bounds)
    return rows.bounds;
  Value &bounds = &rows == &extents.keys ? boundsOfKeys : boundsOfQueries;
  if (bounds)
    return bounds;
  int64_t pieces = extents.numKeyRanks * extents.getNumSlots();
  auto generated = tensor::GenerateOp::create(
      b, RankedTensorType::get({pieces + 1}, b.getIndexType()), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&generated.getBody(), {}, b.getIndexType(), b.getLoc());
  Value begin = b.mul(generated.getBody().getArgument(0), rows.share);
  tensor::YieldOp::create(b, begin);
  return bounds = generated;
}

Value RowExchange::reshard(Reshard kind, Value part, const Extent &ofRows,
                           int64_t heads, Value rows) {
  // A log-sum-exp is rows of one element.
  bool isOfNumbers = cast<RankedTensorType>(part.getType()).getRank() == 3;
  const ReassociationIndices groups[] = {{0}, {1}, {2, 3}};
  SmallVector<OpFoldResult> sizes = b.sizes(part);
  if (isOfNumbers) {
    sizes.push_back(b.getIndexAttr(1));
    SmallVector<int64_t> shape(
        cast<RankedTensorType>(part.getType()).getShape());
    shape.push_back(1);
    part = tensor::ExpandShapeOp::create(
        b, RankedTensorType::get(shape, getElementTypeOrSelf(part)), part,
        groups, sizes);
  }
  sizes[kHeads] = b.getIndexAttr(heads);
  sizes[kRows] = getAsOpFoldResult(rows);
  Value bounds = getBounds(ofRows);
  Value init = b.empty(sizes, getElementTypeOrSelf(part));
  Value result = ReshardOp::create(b, init.getType(), kind, part, init, bounds,
                                   uint64_t(extents.keyStride),
                                   uint64_t(extents.numKeyRanks))
                     .getResult();
  return isOfNumbers ? tensor::CollapseShapeOp::create(b, result, groups)
                     : result;
}

Value RowExchange::gatherKeys(Value part) {
  return reshard(Reshard::RowsToWhole, part, extents.keys, getNumHeads(part),
                 extents.keys.total);
}

Value RowExchange::addKeys(Value all, Value like) {
  return reshard(Reshard::WholeToRows, all, extents.keys, getNumHeads(all),
                 b.dim(like, kRows));
}

Value RowExchange::shareHeads(Value rows, const Extent &ofRows) {
  return reshard(Reshard::RowsToHeads, rows, ofRows,
                 getNumHeads(rows) / extents.numKeyRanks, ofRows.total);
}

Value RowExchange::toRows(Value heads, const Extent &ofRows, Value like) {
  return reshard(Reshard::HeadsToRows, heads, ofRows, getNumHeads(like),
                 b.dim(like, kRows));
}

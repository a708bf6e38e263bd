//===- RowGroups.cpp - Rows of queries that are multiplied together -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/RowGroups.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

RowGroups::RowGroups(OnlineAttentionOp op)
    : numRows(op.getNumRows()), size(numRows), count(op.getNumQueries()) {
  PlanAttr plan = getPlan(op);
  bool isKnown = getConstantIntValue(count).has_value();
  if (isKnown || !plan || plan.getHeads() == 0)
    return;
  if (int64_t rows = getRowsAtATime(plan.getHeads()); numRows % rows == 0)
    size = rows;
}

Value RowGroups::take(OpBuilder &b, Location loc, Value all, unsigned dim,
                      OpFoldResult first) const {
  auto type = cast<RankedTensorType>(all.getType());
  if (type.getDimSize(dim) == size)
    return all;
  auto rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      strides(rank, b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, all);
  offsets[dim] = first;
  sizes[dim] = b.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(b, loc, all, offsets, sizes, strides);
}

Value RowGroups::forEach(OpBuilder &b, Location loc, Value init, unsigned dim,
                         Body body) const {
  if (size == numRows)
    return body(b, loc, b.getIndexAttr(0), init);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto loop = scf::ForOp::create(
      b, loc, index(0), count, index(size), init,
      [&](OpBuilder &nested, Location, Value first, ValueRange so) {
        auto part = cast<tensor::ExtractSliceOp>(
            take(nested, loc, so.front(), dim, first).getDefiningOp());
        Value result = body(nested, loc, first, part);
        Value all = tensor::InsertSliceOp::create(
            nested, loc, result, so.front(), part.getMixedOffsets(),
            part.getMixedSizes(), part.getMixedStrides());
        scf::YieldOp::create(nested, loc, all);
      });
  return loop.getResult(0);
}

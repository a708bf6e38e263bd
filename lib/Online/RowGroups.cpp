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

Value RowGroups::take(IndexBuilder &b, Value all, unsigned dim,
                      OpFoldResult first) const {
  auto type = cast<RankedTensorType>(all.getType());
  if (type.getDimSize(dim) == size)
    return all;
  SmallVector<OpFoldResult> offsets = b.zeros(type.getRank()),
                            sizes = b.sizes(all);
  offsets[dim] = first;
  sizes[dim] = b.getIndexAttr(size);
  return b.slice(all, offsets, sizes);
}

Value RowGroups::forEach(IndexBuilder &b, Value init, unsigned dim,
                         Body body) const {
  if (size == numRows)
    return body(b.getIndexAttr(0), init);
  return b.loop(0, count, size, init, [&](Value first, Value all) -> Value {
    auto part =
        cast<tensor::ExtractSliceOp>(take(b, all, dim, first).getDefiningOp());
    return b.insert(body(first, part), all, part.getMixedOffsets(),
                    part.getMixedSizes());
  });
}

//===- RowTiling.cpp - Tiles of ops on rows of heads ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Layer/RowTiling.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

SmallVector<Range> attn::getRowDomain(OpBuilder &b, Location loc, Value rows) {
  SmallVector<Range> domain;
  for (int64_t dim : {0, 1, 2})
    domain.push_back({b.getIndexAttr(0),
                      tensor::getMixedSize(b, loc, rows, dim),
                      b.getIndexAttr(1)});
  return domain;
}

static int64_t getRowSize(Value rows) {
  return cast<ShapedType>(rows.getType()).getDimSize(3);
}

void attn::getRowPosition(OpBuilder &b, Value rows,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes,
                          SmallVectorImpl<OpFoldResult> &rowOffsets,
                          SmallVectorImpl<OpFoldResult> &rowSizes) {
  rowOffsets.assign(offsets.begin(), offsets.end());
  rowSizes.assign(sizes.begin(), sizes.end());
  rowOffsets.push_back(b.getIndexAttr(0));
  rowSizes.push_back(b.getIndexAttr(getRowSize(rows)));
}

bool attn::hasWholeRows(Value rows, ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes) {
  return isZeroInteger(offsets[3]) &&
         getConstantIntValue(sizes[3]) == getRowSize(rows);
}

Value attn::createRowSlice(OpBuilder &b, Location loc, Value tensor,
                           ArrayRef<OpFoldResult> offsets,
                           ArrayRef<OpFoldResult> sizes,
                           SmallVectorImpl<Operation *> &slices) {
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  auto slice =
      tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes, strides);
  slices.push_back(slice);
  return slice;
}

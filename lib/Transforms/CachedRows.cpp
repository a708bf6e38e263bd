//===- CachedRows.cpp - Rows that lie in a cache --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/CachedRows.h"
#include "dialect/CacheRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// The slice that `value` is, if it takes one entry of the first two dimensions
/// and begins at 0 in the others; or null.
static tensor::ExtractSliceOp getHeadSlice(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != 4)
    return nullptr;
  bool takesHead = llvm::all_of(slice.getMixedStrides(), isOneInteger) &&
                   isOneInteger(slice.getMixedSizes()[0]) &&
                   isOneInteger(slice.getMixedSizes()[1]) &&
                   isZeroInteger(slice.getMixedOffsets()[2]) &&
                   isZeroInteger(slice.getMixedOffsets()[3]);
  return takesHead ? slice : nullptr;
}

/// The slice that `value` is, if it takes whole rows of a matrix; or null.
static tensor::ExtractSliceOp getRowSlice(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != 2 ||
      slice.getType().getRank() != 2)
    return nullptr;
  bool takesRows =
      llvm::all_of(slice.getMixedStrides(), isOneInteger) &&
      isZeroInteger(slice.getMixedOffsets()[1]) &&
      slice.getType().getDimSize(1) == slice.getSourceType().getDimSize(1);
  return takesRows ? slice : nullptr;
}

std::optional<CachedRows> CachedRows::match(Value matrix) {
  OpFoldResult first = Builder(matrix.getContext()).getIndexAttr(0);
  if (tensor::ExtractSliceOp rows = getRowSlice(matrix)) {
    first = rows.getMixedOffsets()[0];
    matrix = rows.getSource();
  }
  tensor::ExtractSliceOp slice = getHeadSlice(matrix);
  if (!slice)
    return std::nullopt;
  // A head, then its only batch entry and head as a matrix.
  if (tensor::ExtractSliceOp outer = getHeadSlice(slice.getSource())) {
    if (!isZeroInteger(slice.getMixedOffsets()[0]) ||
        !isZeroInteger(slice.getMixedOffsets()[1]))
      return std::nullopt;
    slice = outer;
  }
  auto read = slice.getSource().getDefiningOp<CacheReadOp>();
  if (!read)
    return std::nullopt;
  auto cache = cast<ShapedType>(read.getCache().getType());
  auto type = cast<RankedTensorType>(matrix.getType());
  if (read.isQuantized() || cache.getElementType() != type.getElementType() ||
      type.getShape().back() != read.getHeadSize())
    return std::nullopt;
  return CachedRows(read, slice.getMixedOffsets()[0],
                    slice.getMixedOffsets()[1], first);
}

std::optional<int64_t> CachedRows::getUnit() {
  if (!read.getRing() && !read.getTable())
    return 0;
  int64_t rows = cast<ShapedType>(read.getCache().getType()).getDimSize(2);
  if (ShapedType::isDynamic(rows) || rows == 0)
    return std::nullopt;
  return rows;
}

std::pair<Value, Value> CachedRows::clampToStored(OpBuilder &b, Location loc,
                                                  Value begin, Value end) {
  StoredPositions stored = createStoredPositions(
      b, loc, read, getValueOrCreateConstantIndexOp(b, loc, batch));
  return {arith::MaxSIOp::create(b, loc, begin, stored.begin),
          arith::MinSIOp::create(b, loc, end, stored.end)};
}

Value CachedRows::extract(OpBuilder &b, Location loc, Value position,
                          OpFoldResult count) {
  Value rows = extractStoredRows(b, loc, read,
                                 getValueOrCreateConstantIndexOp(b, loc, batch),
                                 head, b.getIndexAttr(1), position, count)
                   .elements;
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)),
      strides(4, b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get(type.getShape().take_back(2),
                            type.getElementType()),
      rows, offsets, tensor::getMixedSizes(b, loc, rows), strides);
}

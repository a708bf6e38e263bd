//===- RopeOpTiling.cpp - attn.rope: tiling -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Batch, heads and rows are parallel loops. A tile is the op on slices, whose
// offset or positions are those of its rows; the tables stay whole.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/OffsetTiling.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<utils::IteratorType> RopeOp::getLoopIteratorTypes() {
  return SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel);
}

SmallVector<Range> RopeOp::getIterationDomain(OpBuilder &b) {
  SmallVector<Range> domain;
  for (int64_t dim : {0, 1, 2})
    domain.push_back({b.getIndexAttr(0),
                      tensor::getMixedSize(b, getLoc(), getInput(), dim),
                      b.getIndexAttr(1)});
  return domain;
}

FailureOr<TilingResult>
RopeOp::getTiledImplementation(OpBuilder &b, ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> sizes) {
  // Heads are static.
  if (getNumResults() == 0 || !getConstantIntValue(sizes[1]))
    return failure();
  Location loc = getLoc();
  Value offset, positions = getPositions();
  if (!positions) { // R4
    FailureOr<Value> ofTile =
        createTileOffset(b, loc, getOffset(), offsets, sizes);
    if (failed(ofTile))
      return failure();
    offset = *ofTile;
  }
  SmallVector<Operation *> slices;
  auto slice = [&](Value tensor, ArrayRef<OpFoldResult> at,
                   ArrayRef<OpFoldResult> extent) -> Value {
    SmallVector<OpFoldResult> strides(at.size(), b.getIndexAttr(1));
    auto op =
        tensor::ExtractSliceOp::create(b, loc, tensor, at, extent, strides);
    slices.push_back(op);
    return op;
  };
  SmallVector<OpFoldResult> at, extent;
  if (failed(getResultTilePosition(b, 0, offsets, sizes, at, extent)))
    return failure();
  Value input = slice(getInput(), at, extent);
  Value output = slice(getOutput(), at, extent);
  if (positions)
    positions =
        slice(positions, {offsets[0], offsets[2]}, {sizes[0], sizes[2]});

  auto tile =
      RopeOp::create(b, loc, output.getType(), input, getCosine(), getSine(),
                     output, offset, positions, getPairing());
  return TilingResult{{tile}, {tile->getResult(0)}, slices};
}

LogicalResult RopeOp::getResultTilePosition(
    OpBuilder &b, unsigned, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  resultOffsets.assign(offsets.begin(), offsets.end());
  resultSizes.assign(sizes.begin(), sizes.end());
  resultOffsets.push_back(b.getIndexAttr(0));
  resultSizes.push_back(b.getIndexAttr(getInputType().getDimSize(3)));
  return success();
}

FailureOr<TilingResult>
RopeOp::generateResultTileValue(OpBuilder &b, unsigned,
                                ArrayRef<OpFoldResult> offsets,
                                ArrayRef<OpFoldResult> sizes) {
  // Pairs are not torn apart.
  if (!isZeroInteger(offsets[3]) ||
      getConstantIntValue(sizes[3]) != getInputType().getDimSize(3))
    return failure();
  return getTiledImplementation(b, offsets.drop_back(), sizes.drop_back());
}

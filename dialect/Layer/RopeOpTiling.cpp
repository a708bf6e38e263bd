//===- RopeOpTiling.cpp - attn.rope: tiling -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A tile is the op on slices, whose offset or positions are those of its rows;
// the tables stay whole.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/OffsetTiling.h"
#include "dialect/AttnOps.h"
#include "dialect/Layer/RowTiling.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

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
  SmallVector<OpFoldResult> at, extent;
  getRowPosition(b, getInput(), offsets, sizes, at, extent);
  Value input = createRowSlice(b, loc, getInput(), at, extent, slices);
  Value output = createRowSlice(b, loc, getOutput(), at, extent, slices);
  if (positions)
    positions = createRowSlice(b, loc, positions, {offsets[0], offsets[2]},
                               {sizes[0], sizes[2]}, slices);
  auto tile =
      RopeOp::create(b, loc, output.getType(), input, getCosine(), getSine(),
                     output, offset, positions, getPairing());
  return TilingResult{{tile}, {tile->getResult(0)}, slices};
}

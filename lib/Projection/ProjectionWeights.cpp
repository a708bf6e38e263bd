//===- ProjectionWeights.cpp - The weight of a projection -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/OnlineInPairs.h"
#include "lib/Projection/ProjectionTiles.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace mlir::attn;

/// Tiles of features that an iteration converts at most.
static constexpr int64_t tilesPerConversion = 8;

Value ProjectionTiles::convertToPairs() {
  OpFoldResult zero = index(0), one = index(1), two = index(2);
  int64_t width = op.getPanelWidth(), steps = numFeatures / kFeaturesPerTile,
          step = std::min(tilesPerConversion, steps);
  while (steps % step != 0)
    --step;
  AffineExpr i, j;
  bindDims(b.getContext(), i, j);
  // No rows have no panels.
  int64_t all = op.getWeightType().getDimSize(0);
  OpFoldResult count =
      minimum({b.getAffineConstantExpr(all), i * all}, {numRows});
  OpFoldResult sizes[] = {count, index(numFeatures / 2), index(width), two};
  Value panels = b.empty(ArrayRef<OpFoldResult>(sizes), b.getBF16Type());
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp loop = b.enterForall({count, index(steps / step)}, panels);
  OpFoldResult panel = loop.getInductionVars()[0],
               block = loop.getInductionVars()[1];
  int64_t features = step * kFeaturesPerTile;
  OpFoldResult pairs = index(features / 2);
  SmallVector<OpFoldResult> at = {panel, apply(i * (features / 2), {block}),
                                  zero, zero},
                            box = {one, pairs, index(width), two},
                            kept = {pairs, index(width), two};
  Value to = b.slice(loop.getRegionIterArgs()[0], at, box, kept), from;
  AffineExpr pair, column, element;
  bindDims(b.getContext(), pair, column, element);
  SmallVector<AffineExpr> indices = {pair, column, element};
  if (op.isInPairs()) {
    from = b.slice(op.getWeight(), at, box, kept);
  } else {
    OpFoldResult rows[] = {index(features), index(width)};
    from = b.slice(op.getWeight(), {panel, apply(i * features, {block}), zero},
                   {one, rows[0], rows[1]}, rows);
    from = expandDim(b, from, 0, 2);
    std::swap(indices[1], indices[2]);
  }
  Value converted = convertElements(from, to, indices);
  b.insertInParallel(loop, converted, loop.getRegionIterArgs()[0], at, box);
  return loop.getResult(0);
}

int64_t ProjectionTiles::getNumSteps() {
  return inPairs ? numFeatures / kFeaturesPerTile : numFeatures;
}

bool ProjectionTiles::readsWeight(const Tile &tile, bool few) {
  bool isMultiplied = few || op.getWeightType().getElementType() == multiplied;
  if (!op.hasPanels())
    return few && !isTransposed && tile.width == tile.numColumns;
  return inPairs || (!op.isInPairs() && isMultiplied);
}

Value ProjectionTiles::getPart(const Tile &tile, OpFoldResult column,
                               OpFoldResult at, int64_t count) {
  AffineExpr c = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  SmallVector<OpFoldResult> corner = {
      at, apply(c + d + tile.first, {tile.column, column})};
  SmallVector<OpFoldResult> box = {index(count), index(tile.width)};
  if (isTransposed) {
    std::swap(corner[0], corner[1]);
    std::swap(box[0], box[1]);
  }
  return b.slice(weight, corner, box, box);
}

Value ProjectionTiles::packPart(const Tile &tile, Value part, int64_t count) {
  AffineExpr c = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  SmallVector<AffineExpr> from = {c, d};
  if (isTransposed)
    std::swap(from[0], from[1]);
  bool isWhole = tile.width == tile.numColumns;
  SmallVector<int64_t> shape = {count, tile.numColumns};
  Type element = op.getWeightType().getElementType();
  // Nothing else would keep a copy of what is only read.
  if (isWhole && !isTransposed && element == multiplied)
    return bufferization::AllocTensorOp::create(
        b, b.getLoc(), RankedTensorType::get(shape, element),
        /*dynamicSizes=*/ValueRange(), part);
  Value columns = b.empty(shape, multiplied);
  if (isWhole)
    return convertElements(part, columns, from);
  columns = b.fillWithZero(columns);
  SmallVector<OpFoldResult> corner(2, index(0)),
      box = {index(count), index(tile.width)};
  Value to = b.slice(columns, corner, box, box);
  return b.insert(convertElements(part, to, from), columns, corner, box);
}

Value ProjectionTiles::getColumns(const Tile &tile, OpFoldResult column,
                                  OpFoldResult at, int64_t count, bool few) {
  if (!op.hasPanels()) {
    Value part = getPart(tile, column, at, count);
    return readsWeight(tile, few) ? part : packPart(tile, part, count);
  }
  AffineExpr c = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  OpFoldResult zero = index(0), one = index(1), two = index(2),
               k = index(count), n = index(tile.numColumns);
  column = apply(c + d + tile.first, {tile.column, column});
  int64_t width = op.getPanelWidth();
  OpFoldResult panel = apply(c.floorDiv(width), {column}),
               lane = apply(c % width, {column});
  if (inPairs) {
    constexpr int64_t pairs = kFeaturesPerTile / 2;
    OpFoldResult size = index(count * pairs);
    Value part = b.slice(weight, {panel, apply(c * pairs, {at}), lane, zero},
                         {one, size, n, two}, {size, n, two});
    return expandDim(b, part, 0, pairs);
  }
  if (!op.isInPairs()) {
    Value part = b.slice(weight, {panel, at, lane}, {one, k, n}, {k, n});
    if (readsWeight(tile, few))
      return part;
    return convertElements(part, b.empty({count, tile.numColumns}, multiplied),
                           {c, d});
  }
  // (p, n, e) to (p, e, n), whose rows are those of the weight. A block has an
  // even number of them.
  OpFoldResult half = index(count / 2);
  Value part = b.slice(weight, {panel, apply(c.floorDiv(2), {at}), lane, zero},
                       {one, half, n, two}, {half, n, two});
  Value rows = b.empty({count / 2, 2, tile.numColumns}, multiplied);
  AffineExpr p, e, l;
  bindDims(b.getContext(), p, e, l);
  rows = convertElements(part, rows, {p, l, e});
  return tensor::CollapseShapeOp::create(
      b, rows, SmallVector<ReassociationIndices>{{0, 1}, {2}});
}

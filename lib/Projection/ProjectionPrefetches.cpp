//===- ProjectionPrefetches.cpp - What tiles of a projection fetch --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"
#include "lib/Projection/ProjectionTiles.h"

using namespace mlir;
using namespace mlir::attn;

PrefetchOp ProjectionTiles::spread(Value source, int64_t numRows) {
  auto prefetch = PrefetchOp::create(b, source, b.index(0), b.index(numRows));
  prefetch.setSpread(true);
  return prefetch;
}

void ProjectionTiles::fetchStream(const Tile &tile, Value block,
                                  OpFoldResult at, int64_t count) {
  int64_t steps = getNumSteps();
  bool isOnly = tile.mostBlocks == 1 && count == steps && !tile.nextTile;
  if (isOnly || !readsWeight(tile, /*few=*/true))
    return;
  AffineExpr i = b.getAffineDimExpr(0);
  OpFoldResult zero = index(0), one = index(1),
               column = apply(i * tile.numColumns, {block}),
               nextColumn = apply((i + 1) * tile.numColumns, {block}),
               nextAt = minimum(
                   {i + count, b.getAffineConstantExpr(steps - count)}, {at});
  Value isBlock = b.isLess(apply(i + 1, {block}),
                           tile.mostBlocks == 1 ? one : tile.numBlocks),
        areFeatures = b.isLess(apply(i + count, {at}), index(steps));
  // After its last features, a tile without a next one fetches them again.
  OpFoldResult lastColumn = column, lastAt = nextAt;
  if (tile.nextTile) {
    lastColumn = tile.nextTile;
    lastAt = zero;
  }
  OpFoldResult inTile = b.select(areFeatures, nextAt, lastAt),
               columnInTile = b.select(areFeatures, zero, lastColumn);
  Value columns =
      getColumns(tile, b.select(isBlock, nextColumn, columnInTile),
                 b.select(isBlock, at, inTile), count, /*few=*/true);
  auto numRows = cast<ShapedType>(columns.getType()).getDimSize(0);
  int64_t ahead = plan.getAhead();
  if (ahead == 0)
    ahead = CacheModel(getTarget(op)).getBytesAhead(op.hasPanels());
  PrefetchOp::create(b, columns, b.index(0), b.index(numRows)).setStream(ahead);
}

bool ProjectionTiles::fetchesOperands(const Tile &tile, int64_t count) {
  TargetAttr target = getTarget(op);
  if (op.hasPanels() ? !readsWeight(tile, /*few=*/false)
                     : tile.width != tile.numColumns)
    return false;
  if (!inPairs)
    return count * tile.numColumns * 4 > target.getL1Bytes();
  int64_t size = getRowsPerPack();
  return target.getBf16Tiles() && tile.numColumns == size &&
         count * kFeaturesPerTile * (size * numParts + tile.numColumns) * 2 >
             target.getL1Bytes();
}

void ProjectionTiles::fetchOperands(const Tile &tile, const Product &product) {
  AffineExpr i = b.getAffineDimExpr(0), j = b.getAffineDimExpr(1);
  OpFoldResult zero = index(0), at = product.at;
  int64_t count = product.count;
  OpFoldResult nextAt = minimum(
      {i + count, b.getAffineConstantExpr(getNumSteps() - count)}, {at});
  OpFoldResult column = apply(i * tile.numColumns, {product.block}),
               nextBlock = apply((i + 1) * tile.numColumns, {product.block});
  Value isBlock = b.isLess(apply(i + 1, {product.block}), tile.numBlocks);
  // Features go by before the next block, or blocks before the next features.
  bool goesByFeatures = keepsRowsOfTile() || tile.mostBlocks == 1;
  OpFoldResult laterColumn = column, laterAt = nextAt;
  if (!goesByFeatures) {
    laterColumn = b.select(isBlock, nextBlock, product.isLast ? column : zero);
    laterAt = product.isLast ? at : b.select(isBlock, at, nextAt);
  } else if (product.isLast) {
    laterColumn = b.select(isBlock, nextBlock,
                           tile.nextTile ? apply(i + j, {column, tile.nextTile})
                                         : column);
    laterAt = zero;
  }
  Value columns = op.hasPanels() ? getColumns(tile, laterColumn, laterAt, count,
                                              /*few=*/false)
                                 : getPart(tile, laterColumn, laterAt, count);
  PrefetchOp ofColumns =
      spread(columns, cast<ShapedType>(columns.getType()).getDimSize(0));
  ofColumns.getShareMutable().assign(product.pack);
  ofColumns.setNumShares(getPacksPerTile());
  if (goesByFeatures || product.isLast)
    return;
  SmallVector<OpFoldResult> box = getPackSizes(index(1)),
                            corner(box.size(), zero);
  corner[0] = product.ofRows;
  corner[1] = nextAt;
  box[1] = index(count);
  PrefetchOp ofPack =
      spread(b.slice(rows, corner, box, ArrayRef(box).drop_front()), count);
  ofPack.getShareMutable().assign(product.block);
  ofPack.setNumShares(tile.mostBlocks);
}

void ProjectionTiles::fetchForWrite(Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t bitsOfLine = 8 * getTarget(op).getLineBytes();
  // Other rows' lines would be fetched twice.
  if (type.getDimSize(1) * type.getElementTypeBitWidth() % bitsOfLine == 0)
    spread(matrix, getRowsPerPack()).setForWrite(true);
}

//===- ProjectionStores.cpp - Results of a projection's tiles -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/CreateGeneric.h"
#include "lib/Projection/ProjectionTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

ProjectionTiles::Box ProjectionTiles::getBlock(const Tile &tile,
                                               OpFoldResult column,
                                               OpFoldResult count,
                                               OpFoldResult batch,
                                               OpFoldResult row) {
  OpFoldResult one = index(1), width = index(tile.width);
  AffineExpr c = b.getAffineDimExpr(0);
  if (int64_t size = tile.headSize)
    return {{batch, apply(c.floorDiv(size), {column}), row,
             apply(c % size, {column})},
            {one, one, count, width}};
  return {{batch, row, column}, {one, count, width}};
}

ProjectionTiles::Box ProjectionTiles::getStoredBlock(const Tile &tile,
                                                     OpFoldResult column,
                                                     OpFoldResult count,
                                                     OpFoldResult batch,
                                                     OpFoldResult row) {
  AffineExpr c = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  // Of all rows where they are not those of one tile.
  OpFoldResult rowInOut =
      !isOneBatch || tile.isOneTile ? row : apply(c + d, {tile.row, row});
  return getBlock(tile, apply(c + d, {tile.firstColumn, column}), count, batch,
                  rowInOut);
}

void ProjectionTiles::addOperands(const Tile &tile, const Box &inTile,
                                  const Box &inOut,
                                  SmallVectorImpl<Value> &inputs,
                                  SmallVectorImpl<AffineMap> &maps) {
  AffineExpr c = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  unsigned rank = inOut.offsets.size();
  auto add = [&](Value tensor, AffineMap map, ArrayRef<OpFoldResult> offsets) {
    SmallVector<OpFoldResult> at, sizes, kept;
    SmallVector<AffineExpr> dims;
    for (AffineExpr expr : map.getResults()) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      at.push_back(offsets[dim]);
      sizes.push_back(inOut.sizes[dim]);
      if (dim + 2 < rank) // One batch entry or head.
        continue;
      kept.push_back(sizes.back());
      dims.push_back(dim + 1 == rank ? d : c);
    }
    inputs.push_back(isa<ShapedType>(tensor.getType())
                         ? b.slice(tensor, at, sizes, kept)
                         : tensor);
    maps.push_back(AffineMap::get(2, 0, dims, b.getContext()));
  };
  SmallVector<OpFoldResult> global;
  for (auto [offset, within] : llvm::zip_equal(tile.offsets, inOut.offsets))
    global.push_back(apply(c + d, {offset, within}));
  linalg::GenericOp generic = epilogue->op;
  for (OpOperand *operand : generic.getDpsInputOperands()) {
    if (operand == epilogue->stored)
      continue;
    AffineMap map = generic.getMatchingIndexingMap(operand);
    auto *other = llvm::find(epilogue->others, operand);
    if (other == epilogue->others.end())
      add(operand->get(), map, global);
    else
      add(tile.otherTiles[other - epilogue->others.begin()], map,
          inTile.offsets);
  }
}

Value ProjectionTiles::emitEpilogue(Value result, ValueRange operands) {
  linalg::GenericOp generic = epilogue->op;
  IRMapping mapping;
  for (OpOperand *operand : generic.getDpsInputOperands()) {
    Value element = result;
    if (operand != epilogue->stored) {
      element = operands.front();
      operands = operands.drop_front();
    }
    mapping.map(generic.getMatchingBlockArgument(operand), element);
  }
  for (Operation &nested : generic.getBody()->without_terminator())
    b.clone(nested, mapping);
  return mapping.lookupOrDefault(
      generic.getBody()->getTerminator()->getOperand(0));
}

Value ProjectionTiles::storeBlock(const Tile &tile, OpFoldResult column,
                                  Value sums, OpFoldResult first,
                                  OpFoldResult count, OpFoldResult batch,
                                  OpFoldResult row, Value outTile) {
  OpFoldResult zero = index(0), width = index(tile.width);
  OpFoldResult box[] = {count, width};
  AffineExpr c = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  Box inTile = getBlock(tile, column, count, batch, row),
      inOut = getStoredBlock(tile, column, count, batch, row);
  Value to = b.slice(outTile, inOut.offsets, inOut.sizes, box);
  SmallVector<Value> inputs = {b.slice(sums, {first, zero}, box, box)};
  SmallVector<AffineMap> maps = {b.getMultiDimIdentityMap(2)};
  OpFoldResult ofWeight = apply(c + d + tile.first, {tile.column, column});
  for (Value columns : {op.getScales(), op.getBias()})
    if (columns) {
      inputs.push_back(b.slice(columns, {ofWeight}, {width}, {width}));
      maps.push_back(AffineMap::get(2, 0, b.getAffineDimExpr(1)));
    }
  unsigned numOwn = inputs.size();
  if (epilogue)
    addOperands(tile, inTile, inOut, inputs, maps);
  maps.push_back(maps[0]);
  Type f32 = b.getF32Type();
  Type resultType =
      cast<ShapedType>(op.getOuts().front().getType()).getElementType();
  Value stored = b.generic(inputs, to, maps, [&](ValueRange e) {
    Value result = e[0];
    if (op.getScales())
      result = b.mulF(result, e[1]);
    if (op.getBias())
      result = b.addF(result, b.convert(e[numOwn - 1], f32));
    result = b.convert(result, resultType);
    return epilogue
               ? emitEpilogue(result, e.slice(numOwn, inputs.size() - numOwn))
               : result;
  });
  return b.insert(stored, outTile, inOut.offsets, inOut.sizes);
}

Value ProjectionTiles::storeRows(const Tile &tile, OpFoldResult column,
                                 Value sums, OpFoldResult first,
                                 OpFoldResult count, Value outTile) {
  OpFoldResult zero = index(0), one = index(1);
  if (isOneBatch)
    return storeBlock(tile, column, sums, zero, count, zero, first, outTile);
  AffineExpr i = b.getAffineDimExpr(0), j = b.getAffineDimExpr(1);
  return forRows(
      count, outTile,
      [&](Value i, OpFoldResult batch, OpFoldResult row, Value outTile) {
        return storeBlock(tile, column, sums, i, one, batch, row, outTile);
      },
      apply(i + j, {tile.row, first}));
}

Value ProjectionTiles::emitBlocks(const Tile &tile, int64_t fewRows,
                                  Value outTile) {
  auto emit = [&](ProjectionTiles &tiles, const Tile &tile, Value out) {
    return fewRows > 0 ? tiles.emitFewRows(tile, fewRows, out)
                       : tiles.emitTile(tile, out);
  };
  if (others.empty())
    return emit(*this, tile, outTile);
  return b.loop(0, tile.numBlocks, 1, outTile, [&](Value block, Value outTile) {
    AffineExpr i, j;
    bindDims(b.getContext(), i, j);
    Tile part = tile;
    part.firstColumn = apply(i * tile.numColumns, {block});
    part.column = apply(i + j * tile.numColumns, {tile.column, block});
    // Others' products come between those of a few rows and the next columns.
    part.nextTile = {};
    if (fewRows == 0)
      part.nextTile = minimum({b.getAffineConstantExpr(tile.numColumns),
                               (j - 1 - i) * tile.numColumns},
                              {block, tile.numBlocks});
    part.numBlocks = index(1);
    part.mostBlocks = 1;
    for (ProjectionTiles &other : others) {
      auto type = cast<RankedTensorType>(other.op.getOuts()[0].getType());
      SmallVector<int64_t> shape(type.getRank(), 1);
      shape.end()[-2] =
          fewRows > 0 ? fewRows : getPacksPerTile() * getRowsPerPack();
      shape.back() = tile.width;
      Tile otherPart = part;
      otherPart.isOneTile = true;
      otherPart.firstColumn = index(0);
      part.otherTiles.push_back(
          emit(other, otherPart, b.empty(shape, type.getElementType())));
    }
    return emit(*this, part, outTile);
  });
}

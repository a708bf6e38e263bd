//===- ProjectionTiles.cpp - Tiles of a projection ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Projection/ProjectionTiles.h"

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Plan/CacheModel.h"

using namespace mlir;
using namespace mlir::attn;

ProjectionTiles::ProjectionTiles(IndexBuilder &b, ProjectionOp op,
                                 const ProjectionEpilogue *epilogue)
    : b(b), op(op), plan(getPlan(op)), lanes(plan.getLanes()),
      numFeatures(op.getNumInputFeatures()),
      isOneBatch(op.getInputType().getDimSize(0) == 1), epilogue(epilogue) {
  if (epilogue)
    for (OpOperand *operand : epilogue->others)
      others.emplace_back(b, epilogue->getProjection(operand));
  bool isInPairs = *plan.getLayout() == OnlineLayout::Pairs;
  hasPairs = isInPairs && op.isInPairs() &&
             op.getWeightType().getElementType().isBF16();
  makesPairs = isInPairs && !hasPairs;
}

void ProjectionTiles::setRows(OpFoldResult count, int64_t most) {
  numRows = count;
  inPairs = hasPairs || (makesPairs && most == 0);
  multiplied = inPairs ? Type(b.getBF16Type()) : Type(b.getF32Type());
  numParts = inPairs ? countParts(op) : 1;
}

int64_t ProjectionTiles::getStepsOfBlock(int64_t most) {
  int64_t steps = divideEvenly(getNumSteps(), most);
  // Features that the weight has in pairs stay together.
  return !inPairs && op.isInPairs() ? int64_t(llvm::alignTo(uint64_t(steps), 2))
                                    : steps;
}

Value ProjectionTiles::emitFewRows(const Tile &tile, int64_t mostRows,
                                   Value outTile) {
  int64_t steps = getNumSteps(),
          most = CacheModel(getTarget(op)).getStreamedFeatures(op.hasPanels());
  int64_t step = getStepsOfBlock(inPairs ? most / kFeaturesPerTile : most);
  bool isOnly = step == steps, hasBlocks = tile.mostBlocks > 1;
  OpFoldResult zero = index(0), box[] = {numRows, index(tile.numColumns)};
  SmallVector<int64_t> shape = {mostRows, tile.numColumns};
  SmallVector<OpFoldResult> corner(2, zero), sizes(box, box + 2);
  if (hasBlocks) {
    shape.insert(shape.begin(), tile.mostBlocks);
    corner.insert(corner.begin(), zero);
    sizes.insert(sizes.begin(), index(tile.mostBlocks));
  }
  Value sums = b.slice(b.empty(shape, b.getF32Type()), corner, sizes, sizes);
  if (!isOnly)
    sums = b.fillWithZero(sums);
  if (hasBlocks)
    sizes.front() = index(1);
  // With the sums of the block that begins at `column`.
  auto forBlocks = [&](Value initial, auto body) {
    if (!hasBlocks)
      return body(b.index(0), zero, initial);
    return b.loop(0, tile.numBlocks, 1, initial,
                  [&](Value block, Value carried) {
                    corner.front() = block;
                    OpFoldResult column =
                        apply(b.getAffineDimExpr(0) * tile.numColumns, {block});
                    return body(block, column, carried);
                  });
  };
  auto getSums = [&](Value sums) {
    return hasBlocks ? b.slice(sums, corner, sizes, box) : sums;
  };
  auto multiply = [&](OpFoldResult at, int64_t count, Value sums) {
    return forBlocks(sums, [&](Value block, OpFoldResult column, Value sums) {
      Value columns = getColumns(tile, column, at, count, /*few=*/true);
      fetchStream(tile, block, at, count);
      Value part = multiplyFew(columns, at, count, getSums(sums), isOnly);
      return hasBlocks ? b.insert(part, sums, corner, sizes) : part;
    });
  };
  int64_t whole = steps / step * step;
  if (isOnly)
    sums = multiply(zero, steps, sums);
  else
    sums = b.loop(0, whole, step, sums, [&](Value at, Value sums) {
      return multiply(at, step, sums);
    });
  if (whole < steps)
    sums = multiply(index(whole), steps - whole, sums);
  return forBlocks(outTile, [&](Value, OpFoldResult column, Value outTile) {
    return storeRows(tile, column, getSums(sums), zero, numRows, outTile);
  });
}

SmallVector<Value> ProjectionTiles::forFeatures(
    int64_t step, ValueRange initial,
    function_ref<SmallVector<Value>(OpFoldResult at, int64_t count,
                                    ValueRange carried, bool isFirst,
                                    bool isLast)>
        body) {
  int64_t steps = getNumSteps(),
          last = (llvm::divideCeil(steps, step) - 1) * step;
  SmallVector<Value> carried(initial);
  if (last > 0)
    carried = body(index(0), step, carried, /*isFirst=*/true, /*isLast=*/false);
  if (last > step)
    carried =
        b.loop(step, last, step, carried, [&](Value at, ValueRange carried) {
          return body(at, step, carried, /*isFirst=*/false,
                      /*isLast=*/false);
        });
  return body(index(last), steps - last, carried, /*isFirst=*/last == 0,
              /*isLast=*/true);
}

Value ProjectionTiles::emitTile(const Tile &tile, Value outTile) {
  int64_t size = getRowsPerPack(), steps = getNumSteps(),
          most = inPairs ? plan.getFeatures() / kFeaturesPerTile
                         : plan.getFeatures();
  int64_t step = getStepsOfBlock(most);
  OpFoldResult zero = index(0), one = index(1);
  OpFoldResult box[] = {index(size), index(tile.numColumns)};
  AffineExpr i, j;
  bindDims(b.getContext(), i, j);
  OpFoldResult numPacks = apply(i.ceilDiv(size), {tile.numRows});
  bool hasOneBlock = step == steps, keepsRows = keepsRowsOfTile();
  SmallVector<int64_t> shapeOfSums = {size, tile.numColumns};
  if (!hasOneBlock)
    shapeOfSums.insert(shapeOfSums.begin(),
                       {keepsRows ? 1 : tile.mostBlocks, getPacksPerTile()});
  Value sums = b.empty(shapeOfSums, b.getF32Type());
  // Of a block of features: the first begins the sums, the last stores them.
  auto multiply = [&](Value block, OpFoldResult at, int64_t count,
                      ValueRange carried, bool isFirst, bool isLast) {
    OpFoldResult column = apply(i * tile.numColumns, {block});
    Value columns = getColumns(tile, column, at, count, /*few=*/false);
    auto forPack = [&](Value pack, ValueRange carried) -> SmallVector<Value> {
      Value sums = carried[0], outTile = carried[1];
      OpFoldResult row = apply(i * size, {pack}),
                   numStored =
                       minimum({b.getAffineConstantExpr(size), j - i * size},
                               {pack, tile.numRows});
      OpFoldResult corner[] = {keepsRows ? zero : OpFoldResult(block), pack,
                               zero, zero},
                   sizes[] = {one, one, box[0], box[1]};
      Value part = hasOneBlock ? sums : b.slice(sums, corner, sizes, box);
      OpFoldResult number = hasPacksOfTile
                                ? OpFoldResult(pack)
                                : apply(i + j.floorDiv(size), {pack, tile.row});
      if (fetchesOperands(tile, count)) {
        fetchOperands(tile, {pack, block, number, at, count, isLast});
        // Tiles are stored all at once.
        if (inPairs && addsProducts(isFirst)) {
          fetchForWrite(part);
        } else if (inPairs) {
          if (!hasOneBlock) {
            corner[1] = minimum({i + 1, j - 1}, {pack, numPacks});
            fetchForWrite(b.slice(sums, corner, sizes, box));
            corner[1] = pack;
          }
          if (isLast && isOneBatch) {
            Box out = getStoredBlock(tile, column, numStored, zero, row);
            fetchForWrite(b.slice(outTile, out.offsets, out.sizes,
                                  {numStored, index(tile.width)}));
          }
        }
      }
      part = multiplyPack(number, at, count, columns, part, isFirst);
      // Before its place changes, or it would have another one.
      if (isLast)
        outTile = storeRows(tile, column, part, row, numStored, outTile);
      sums = hasOneBlock ? part : b.insert(part, sums, corner, sizes);
      return {sums, outTile};
    };
    return b.loop(0, numPacks, 1, carried, forPack);
  };
  auto forBlocks =
      [&](ValueRange carried,
          function_ref<SmallVector<Value>(Value, ValueRange)> body) {
        return b.loop(0, tile.numBlocks, 1, carried, body);
      };
  SmallVector<Value> carried = {sums, outTile};
  if (keepsRows)
    return forBlocks(carried, [&](Value block, ValueRange carried) {
      return forFeatures(step, carried,
                         [&](OpFoldResult at, int64_t count, ValueRange carried,
                             bool isFirst, bool isLast) {
                           return multiply(block, at, count, carried, isFirst,
                                           isLast);
                         });
    })[1];
  return forFeatures(
      step, carried,
      [&](OpFoldResult at, int64_t count, ValueRange carried, bool isFirst,
          bool isLast) {
        return forBlocks(carried, [&](Value block, ValueRange carried) {
          return multiply(block, at, count, carried, isFirst, isLast);
        });
      })[1];
}

bool ProjectionTiles::keepsRowsOfTile() {
  return inPairs && numParts == 1 &&
         getPacksPerTile() * getRowsPerPack() * numFeatures * 2 <=
             CacheModel(getTarget(op)).getResidentBytes();
}

ProjectionTiles::Box ProjectionTiles::getBox(const Tile &tile) {
  AffineExpr c = b.getAffineDimExpr(0);
  OpFoldResult zero = index(0), batches = b.size(op.getInput(), 0),
               // Or all rows: tokens of all batch entries.
      row = isOneBatch ? tile.row : zero,
               numRows = isOneBatch ? tile.numRows : getLength(),
               width = tile.width < tile.numColumns
                           ? index(tile.width)
                           : apply(c * tile.numColumns, {tile.numBlocks});
  if (!tile.headSize)
    return {{zero, row, tile.column}, {batches, numRows, width}};
  int64_t size = tile.headSize;
  // Whole heads, or a part of one.
  bool isPart = tile.mostBlocks * tile.numColumns < size;
  return {{zero, apply(c.floorDiv(size), {tile.column}), row,
           apply(c % size, {tile.column})},
          {batches, isPart ? index(1) : apply(c.floorDiv(size), {width}),
           numRows, isPart ? width : index(size)}};
}

int64_t ProjectionTiles::getPacksPerTile() {
  return std::max<int64_t>(plan.getRows() / getRowsPerPack(), 1);
}

int64_t ProjectionTiles::getRowsPerPack() {
  return inPairs ? kRowsOfPairPack : kRowsOfPack;
}

/// Blocks of `columns` columns in each tile of `count` blocks, of at most
/// `most` columns and about the same size. Of heads of `size`, unless that is
/// 0, these are whole heads, or one block of a head. `numRows` tiles have the
/// same columns, which `cores` compute in about the same time if there are
/// enough blocks; 0: any number.
static int64_t chooseBlocks(int64_t count, int64_t columns, int64_t size,
                            int64_t most, int64_t numRows, int64_t cores) {
  if (size > most)
    return 1;
  int64_t unit = size == 0 ? 1 : size / columns,
          units = int64_t(llvm::divideCeil(count, unit)),
          best = divideEvenly(units, most / (unit * columns));
  auto getLongest = [&](int64_t perTile) {
    auto tiles = numRows * int64_t(llvm::divideCeil(units, perTile));
    return int64_t(llvm::divideCeil(tiles, cores)) * perTile;
  };
  auto isEven = [&] {
    return 8 * cores * getLongest(best) <= 9 * units * numRows;
  };
  for (int64_t perTile = best - 1; numRows > 0 && perTile > 0 && !isEven();
       --perTile)
    if (getLongest(perTile) < getLongest(best))
      best = perTile;
  return best * unit;
}

Value ProjectionTiles::emitResult(Value out, int64_t first, int64_t fewRows) {
  auto type = cast<ShapedType>(out.getType());
  int64_t headSize = type.getRank() == 4 ? type.getDimSize(3) : 0,
          features =
              headSize ? type.getDimSize(1) * headSize : type.getDimSize(2);
  int64_t columns = *chooseTileColumns(op, out, first, lanes);
  int64_t whole = features / columns, rest = features % columns;
  int64_t mostRows = getPacksPerTile() * getRowsPerPack();
  // Tiles of rows as well where they are boxes of the result.
  bool splitsRows = fewRows == 0 && isOneBatch;
  int64_t rowTiles = 0;
  if (std::optional<int64_t> all = getConstantIntValue(numRows))
    rowTiles = splitsRows ? int64_t(llvm::divideCeil(*all, mostRows)) : 1;
  // A panel of few rows is a stream of its own. Pairs have large tiles.
  int64_t mostBlocks =
      fewRows > 0 && op.hasPanels()
          ? 1
          : chooseBlocks(whole, columns, headSize, plan.getColumns(),
                         fewRows > 0 || inPairs ? 0 : rowTiles,
                         CacheModel(getTarget(op)).getIterations());
  AffineExpr i, n;
  bindDims(b.getContext(), i, n);
  AffineExpr most = b.getAffineConstantExpr(mostRows);
  auto emitRows = [&](Tile tile) {
    Box box = getBox(tile);
    tile.offsets = box.offsets;
    Value outTile = b.slice(tile.out, box.offsets, box.sizes, box.sizes);
    if (fewRows > 0 || tile.isOneTile)
      return std::pair(emitBlocks(tile, fewRows, outTile), box);
    outTile = b.loop(0, numRows, mostRows, outTile, [&](Value row, Value out) {
      Tile part = tile;
      part.row = row;
      part.numRows = minimum({most, n - i}, {row, numRows});
      return emitBlocks(part, fewRows, out);
    });
    return std::pair(outTile, box);
  };
  OpFoldResult zero = index(0);
  if (whole > 0) {
    auto tiles = int64_t(llvm::divideCeil(whole, mostBlocks));
    // No rows have no tiles. Tiles of columns alone are one loop, which shows
    // that a part of the weight is read once, and is worth being fetched ahead.
    SmallVector<OpFoldResult> numTiles = {
        minimum({b.getAffineConstantExpr(tiles), i * tiles}, {numRows})};
    if (splitsRows)
      numTiles = {apply(i.ceilDiv(mostRows), {numRows}), index(tiles)};
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp loop = b.enterForall(numTiles, out);
    OpFoldResult row = loop.getInductionVars().front(),
                 tileNumber = loop.getInductionVars().back();
    Tile tile{loop.getRegionIterArgs()[0],
              first,
              headSize,
              apply(i * mostBlocks * columns, {tileNumber}),
              columns,
              columns,
              mostBlocks,
              whole % mostBlocks == 0
                  ? index(mostBlocks)
                  : minimum({b.getAffineConstantExpr(mostBlocks),
                             whole - i * mostBlocks},
                            {tileNumber}),
              splitsRows ? apply(i * mostRows, {row}) : zero,
              splitsRows ? minimum({most, n - i * mostRows}, {row, numRows})
                         : numRows,
              /*isOneTile=*/splitsRows,
              /*firstColumn=*/zero};
    if (fewRows > 0 && tiles > 1)
      tile.nextTile = minimum({b.getAffineConstantExpr(mostBlocks * columns),
                               (tiles - 1 - i) * (mostBlocks * columns)},
                              {tileNumber});
    if (!rows)
      setPacksOfTile(keepPacksOfTile(row));
    auto [outTile, box] = emitRows(tile);
    b.insertInParallel(loop, outTile, tile.out, box.offsets, box.sizes);
    out = loop.getResult(0);
  }
  if (rest == 0)
    return out;
  Tile tile{out,
            first,
            headSize,
            index(whole * columns),
            columns,
            rest,
            1,
            index(1),
            zero,
            numRows,
            /*isOneTile=*/false,
            /*firstColumn=*/zero};
  auto [outTile, box] = emitRows(tile);
  return b.insert(outTile, out, box.offsets, box.sizes);
}

ProjectionRows ProjectionTiles::prepare(OpFoldResult count, int64_t most) {
  setRows(count, most);
  if (most > 0)
    return {count, most, getFewRows(most)};
  return {count, most, packsInTiles() ? Value() : packRows()};
}

/// The matrix that is transposed to be a weight; null if none is.
static Value findTransposed(Value weight) {
  auto transpose = weight.getDefiningOp<linalg::TransposeOp>();
  constexpr int64_t swapped[] = {1, 0};
  return transpose && transpose.hasPureTensorSemantics() &&
                 transpose.getPermutation() == ArrayRef(swapped)
             ? transpose.getInput()
             : Value();
}

void ProjectionTiles::use(const ProjectionRows &prepared) {
  setRows(prepared.count, prepared.most);
  rows = prepared.rows;
  hasPacksOfTile = false;
  Value stored = findTransposed(op.getWeight());
  isTransposed = bool(stored);
  weight = stored                 ? stored
           : inPairs && !hasPairs ? convertToPairs()
                                  : op.getWeight();
  for (ProjectionTiles &other : others)
    other.use(prepared);
}

void ProjectionTiles::setPacksOfTile(Value packs) {
  rows = packs;
  hasPacksOfTile = true;
  for (ProjectionTiles &other : others)
    other.setPacksOfTile(packs);
}

SmallVector<Value> ProjectionTiles::emit(const ProjectionRows &prepared,
                                         ValueRange outs) {
  use(prepared);
  SmallVector<Value> results;
  int64_t first = 0;
  for (auto [out, features] : llvm::zip(outs, op.getNumOutputFeatures())) {
    results.push_back(emitResult(out, first, prepared.most));
    first += features;
  }
  return results;
}

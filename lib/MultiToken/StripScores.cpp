//===- StripScores.cpp - Scores of a strip --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripLowering.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

Value StripLowering::emitStrip(const Tile &tile, Value &overlap) {
  if (!before.kernel && !before.mixing)
    return emitScores(tile);
  SmallVector<Value> carried = {
      empty({b.getIndexAttr(tile.numHeads), b.getIndexAttr(weightRows),
             getStripWidth(tile)},
            f32)};
  if (overlap)
    carried.push_back(overlap);
  int64_t mixed = before.getNumMixedHeads();
  auto emitGroup = [&](Value group, ValueRange carried) {
    Value head = arith::MulIOp::create(b, loc, group, index(mixed));
    return loop(zero, tile.numBlocks, carried,
                [&](Value block, ValueRange carried) {
                  return emitWindow(tile, head, block, carried);
                });
  };
  SmallVector<Value> results =
      loop(zero, index(tile.numHeads / mixed), carried, emitGroup);
  if (overlap)
    overlap = results[1];
  return results[0];
}

SmallVector<Value> StripLowering::emitWindow(const Tile &tile, Value head,
                                             Value block, ValueRange carried) {
  int64_t mixed = before.getNumMixedHeads();
  Tile part = tile;
  part.numHeads = mixed;
  part.firstHead = add(tile.firstHead, head);
  part.queries =
      extractBox(tile.queries,
                 {{head, b.getIndexAttr(0), b.getIndexAttr(0)},
                  {b.getIndexAttr(mixed), b.getIndexAttr(scoreRows),
                   b.getIndexAttr(op.getQueryType().getDimSize(3))}},
                 {mixed, scoreRows, op.getQueryType().getDimSize(3)});
  auto getColumns = [&](OpFoldResult first, int64_t column, int64_t columns) {
    return Box{{first, b.getIndexAttr(0), b.getIndexAttr(column)},
               {b.getIndexAttr(mixed), b.getIndexAttr(scoreRows),
                b.getIndexAttr(columns)}};
  };
  OpFoldResult none = b.getIndexAttr(0);
  Value window = empty({b.getIndexAttr(mixed), b.getIndexAttr(scoreRows),
                        b.getIndexAttr(2 * lead + kKeys)},
                       f32);
  Box overlap = getColumns(head, 0, 2 * lead);
  if (lead > 0)
    window = insert(extract(carried[1], overlap), window,
                    getColumns(none, 0, 2 * lead));
  Value column = index(2 * lead);
  auto emitDots = [&](Value c, ValueRange windows) {
    return SmallVector<Value>{
        emitVisibleDots(part, c, block, column, windows[0])};
  };
  auto emitRegions = [&](Value c, ValueRange windows) {
    return SmallVector<Value>{
        emitRegionBlock(part, c, block, column, windows[0], 2 * lead)};
  };
  window = loop(zero, index(mixed), window, emitDots).front();
  window = loop(zero, index(mixed), window, emitRegions).front();

  auto isHidden = [&](Value score) { return isMinusInfinity(score); };
  StageInput input = {window,     Value(),
                      isHidden,   /*marksAreZero=*/false,
                      -kInfinity, getFirstKey(tile, block)};
  Box target{{head, none, getColumn(block)},
             {b.getIndexAttr(mixed), b.getIndexAttr(weightRows),
              b.getIndexAttr(kKeys)}};
  Value staged = emitStages(
      part, before, input, index(lead), weightRows,
      extractBox(carried[0], target, {mixed, weightRows, kKeys}), none);
  SmallVector<Value> results = {insert(staged, carried[0], target)};
  if (lead > 0) {
    // Not a view of the window, which the next one takes the place of.
    auto next = bufferization::MaterializeInDestinationOp::create(
        b, loc, extract(window, getColumns(none, kKeys, 2 * lead)),
        extract(carried[1], overlap));
    results.push_back(insert(next.getResult(), carried[1], overlap));
  }
  return results;
}

Value StripLowering::emitScores(const Tile &tile) {
  Value strip = empty({b.getIndexAttr(tile.numHeads), b.getIndexAttr(scoreRows),
                       getStripWidth(tile)},
                      f32);
  // Two loops over blocks, because of one that may change what it has just
  // written, bufferization copies the strip.
  return loop(zero, index(tile.numHeads), strip,
              [&](Value c, ValueRange strips) {
                auto emitDots = [&](Value block, Value column, Value strip) {
                  return insertBlock(this->emitDots(tile, c, block, zero,
                                                    scoreRows, zero, kKeys),
                                     strip, c, column);
                };
                Value dots = forEachBlock(tile, strips[0], emitDots);
                auto emitRegions = [&](Value block, Value column, Value strip) {
                  return emitRegionBlock(tile, c, block, column, strip);
                };
                return SmallVector<Value>{
                    forEachBlock(tile, dots, emitRegions)};
              })
      .front();
}

Value StripLowering::emitOverlap(const Tile &tile) {
  if (lead == 0)
    return nullptr;
  Value firstKey = arith::MulIOp::create(b, loc, tile.firstBlock, index(kKeys));
  // The scores of the last keys of a block before the first one's window.
  auto emitBlock = [&](Value c, Value block, int64_t lanes, Value overlap) {
    Value shift = arith::MulIOp::create(b, loc, block, index(kKeys));
    Value key = add(add(firstKey, shift), index(lead + kKeys - lanes));
    Value dots =
        emitDots(tile, c, block, zero, scoreRows, index(kKeys - lanes), lanes);
    return insertBlock(
        emitRegions(tile, add(tile.firstHead, c), key, dots), overlap, c,
        OpFoldResult(add(shift, index(2 * lead + kKeys - lanes))));
  };
  auto emitHead = [&](Value c, ValueRange overlaps) {
    Value overlap = emitBlock(c, index(-leadBlocks),
                              lead - (leadBlocks - 1) * kKeys, overlaps[0]);
    return loop(index(1 - leadBlocks), zero, overlap,
                [&](Value block, ValueRange overlaps) {
                  return SmallVector<Value>{
                      emitBlock(c, block, kKeys, overlaps[0])};
                });
  };
  // What is before the first key counts as 0, as all that is hidden.
  Value overlap =
      fill(empty({b.getIndexAttr(tile.numHeads), b.getIndexAttr(scoreRows),
                  b.getIndexAttr(2 * lead)},
                 f32),
           0.0);
  return loop(zero, index(tile.numHeads), overlap, emitHead).front();
}

void StripLowering::emitQueries(Tile &tile) {
  int64_t size = op.getQueryType().getDimSize(3);
  Value low = arith::MaxSIOp::create(b, loc, tile.first, zero);
  Value high = arith::MinSIOp::create(b, loc, add(tile.first, index(scoreRows)),
                                      numQueries);
  Value count = subtract(high, low);
  OpFoldResult none = b.getIndexAttr(0), one = b.getIndexAttr(1),
               all = b.getIndexAttr(tile.numHeads),
               columns = b.getIndexAttr(size);
  Value rows = extractBox(
      op.getQuery(),
      {{tile.batch, tile.firstHead, low, none}, {one, all, count, columns}},
      {tile.numHeads, ShapedType::kDynamic, size});
  Value scaled =
      map(rows, empty(tensor::getMixedSizes(b, loc, rows), f32),
          [&](ValueRange x) -> Value {
            return arith::MulFOp::create(b, loc, convert(x[0], f32), scale);
          });
  tile.queries = insert(
      scaled, fill(empty({all, b.getIndexAttr(scoreRows), columns}, f32), 0.0),
      {{none, subtract(low, tile.first), none}, {all, count, columns}});
}

Value StripLowering::emitDots(const Tile &tile, Value c, Value block, Value row,
                              int64_t numRows, Value lane, int64_t lanes) {
  int64_t size = op.getQueryType().getDimSize(3);
  OpFoldResult one = b.getIndexAttr(1), none = b.getIndexAttr(0),
               columns = b.getIndexAttr(size);
  Value number = add(add(tile.firstBlock, block), index(leadBlocks));
  Value keys = extractBox(
      keyBlocks,
      {{tile.batch, emitKeyHead(add(tile.firstHead, c)), number, none, lane},
       {one, one, one, columns, b.getIndexAttr(lanes)}},
      {size, lanes});
  Value query = extractBox(
      tile.queries, {{c, row, none}, {one, b.getIndexAttr(numRows), columns}},
      {numRows, size});
  Value dots =
      fill(empty({b.getIndexAttr(numRows), b.getIndexAttr(lanes)}, f32), 0.0);
  return linalg::MatmulOp::create(b, loc, dots.getType(),
                                  ValueRange{query, keys}, dots)
      .getResult(0);
}

Value StripLowering::emitVisibleDots(const Tile &tile, Value c, Value block,
                                     Value column, Value window) {
  auto emitPart = [&](Value window, Value row, int64_t numRows, Value lane,
                      int64_t lanes) {
    Value dots = emitDots(tile, c, block, row, numRows, lane, lanes);
    return insert(
        dots, window,
        {{c, row, add(column, lane)},
         {b.getIndexAttr(1), b.getIndexAttr(numRows), b.getIndexAttr(lanes)}});
  };
  if (!op.hasMask())
    return emitPart(window, zero, scoreRows, zero, kKeys);
  int64_t numRows = choosePartRows(scoreRows), lanes = kKeys / 2;
  Value head = add(tile.firstHead, c),
        firstKey = add(getFirstKey(tile, block), index(lead));
  auto emitUnlessEmpty = [&](Value window, Value row, Value lane) {
    BlockVerdict verdict =
        emitVerdict(tile, head, row, numRows, add(firstKey, lane), lanes);
    return scf::IfOp::create(
               b, loc, verdict.isEmpty,
               [&](OpBuilder &, Location) {
                 scf::YieldOp::create(b, loc, window);
               },
               [&](OpBuilder &, Location) {
                 scf::YieldOp::create(
                     b, loc, emitPart(window, row, numRows, lane, lanes));
               })
        .getResult(0);
  };
  auto emitRows = [&](Value i, ValueRange windows) {
    Value row = arith::MulIOp::create(b, loc, i, index(numRows));
    return loop(
        zero, index(kKeys / lanes), windows, [&](Value i, ValueRange windows) {
          Value lane = arith::MulIOp::create(b, loc, i, index(lanes));
          return SmallVector<Value>{emitUnlessEmpty(windows[0], row, lane)};
        });
  };
  BlockVerdict verdict =
      emitVerdict(tile, head, zero, scoreRows, firstKey, kKeys);
  return scf::IfOp::create(
             b, loc, verdict.isFull,
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(
                   b, loc, emitPart(window, zero, scoreRows, zero, kKeys));
             },
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(
                   b, loc,
                   loop(zero, index(scoreRows / numRows), window, emitRows));
             })
      .getResult(0);
}

BlockVerdict StripLowering::emitVerdict(const Tile &tile, Value head, Value row,
                                        int64_t numRows, Value key,
                                        int64_t keys) {
  Value position = add(tile.position, row);
  RegionTile region;
  region.batch = tile.batch;
  region.head = head;
  region.positions = {position, add(position, index(numRows - 1))};
  region.keys = {key, add(key, index(keys - 1))};
  region.captures = op.getMaskCaptures();
  return emitBlockVerdict(b, loc, op.getMask(), region);
}

Value StripLowering::emitRegionBlock(const Tile &tile, Value c, Value block,
                                     Value column, Value strip,
                                     int64_t columnsBefore) {
  Value head = add(tile.firstHead, c);
  Value firstKey = add(getFirstKey(tile, block), index(lead));
  Value lastKey = add(firstKey, index(kKeys - 1));
  auto emit = [&](int64_t columnsBefore) {
    Value skipped = index(columnsBefore), first = subtract(column, skipped);
    Value dots = extractBlock(strip, c, 0, scoreRows, first,
                              b.getIndexAttr(columnsBefore + kKeys));
    return insertBlock(
        emitRegions(tile, head, subtract(firstKey, skipped), dots), strip, c,
        first);
  };
  if (op.hasScore())
    return emit(0);
  // Of most blocks, every position counts, and a product is a score.
  Value isPartial = arith::OrIOp::create(
      b, loc, compare(arith::CmpIPredicate::slt, tile.first, zero), // T4
      compare(arith::CmpIPredicate::sge, lastKey, tile.end));
  if (op.hasMask()) {
    BlockVerdict verdict =
        emitVerdict(tile, head, zero, scoreRows, firstKey, kKeys);
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    isPartial = arith::OrIOp::create(
        b, loc, isPartial, arith::XOrIOp::create(b, loc, verdict.isFull, yes));
  }
  return scf::IfOp::create(
             b, loc, isPartial,
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(b, loc, emit(columnsBefore));
             },
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(b, loc, strip);
             })
      .getResult(0);
}

Value StripLowering::emitRegions(const Tile &tile, Value head, Value firstKey,
                                 Value dots) {
  return map({}, dots, [&](ValueRange elements) -> Value {
    auto at = [&](int64_t dim, Value first) {
      return arith::AddIOp::create(b, loc, linalg::IndexOp::create(b, loc, dim),
                                   first)
          .getResult();
    };
    Value row = at(0, tile.first), p = at(0, tile.position),
          j = at(1, firstKey);
    SmallVector<Value> position = {tile.batch, head, p, j};
    Value score = elements[0];
    if (op.hasScore()) {
      SmallVector<Value> arguments = {score};
      llvm::append_range(arguments, position);
      llvm::append_range(arguments, op.getScoreCaptures());
      score = evaluateRegion(b, op.getScore(), arguments).value;
    }
    // T4: unsigned for both ends.
    Value keep = compare(arith::CmpIPredicate::ult, j, tile.end);
    keep = arith::AndIOp::create(
        b, loc, keep, compare(arith::CmpIPredicate::ult, row, numQueries));
    if (op.hasMask()) {
      SmallVector<Value> arguments(position);
      llvm::append_range(arguments, op.getMaskCaptures());
      keep = arith::AndIOp::create(
          b, loc, keep, evaluateRegion(b, op.getMask(), arguments).value);
    }
    return arith::SelectOp::create(b, loc, keep, score, minusInfinity());
  });
}

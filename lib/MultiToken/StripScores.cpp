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
      empty({tile.numHeads, weightRows, getStripWidth(tile)}, f32)};
  if (overlap)
    carried.push_back(overlap);
  int64_t mixed = before.getNumMixedHeads();
  auto emitGroup = [&](Value group, ValueRange carried) {
    Value head = multiply(group, mixed);
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
  part.queries = slice(
      tile.queries,
      {{head, 0, 0}, {mixed, scoreRows, op.getQueryType().getDimSize(3)}}, 3);
  auto getColumns = [&](Number first, int64_t column, int64_t columns) {
    return Box{{first, 0, column}, {mixed, scoreRows, columns}};
  };
  Value window = empty({mixed, scoreRows, 2 * lead + kKeys}, f32);
  Box overlap = getColumns(head, 0, 2 * lead);
  if (lead > 0)
    window = insert(extract(carried[1], overlap), window,
                    getColumns(0, 0, 2 * lead));
  Value column = index(2 * lead);
  auto emitDots = [&](Value c, Value window) {
    return emitVisibleDots(part, c, block, column, window);
  };
  auto emitRegions = [&](Value c, Value window) {
    return emitRegionBlock(part, c, block, column, window, 2 * lead);
  };
  window = loop(zero, index(mixed), window, emitDots);
  window = loop(zero, index(mixed), window, emitRegions);

  auto isHidden = [&](Value score) { return isMinusInfinity(score); };
  StageInput input = {window,     Value(),
                      isHidden,   /*marksAreZero=*/false,
                      -kInfinity, getFirstKey(tile, block)};
  Box target{{head, 0, getColumn(block)}, {mixed, weightRows, kKeys}};
  Value staged = emitStages(part, before, input, index(lead), weightRows,
                            extract(carried[0], target), 0);
  SmallVector<Value> results = {insert(staged, carried[0], target)};
  if (lead > 0) {
    // Not a view of the window, which the next one takes the place of.
    auto next = bufferization::MaterializeInDestinationOp::create(
        b, loc, extract(window, getColumns(0, kKeys, 2 * lead)),
        extract(carried[1], overlap));
    results.push_back(insert(next.getResult(), carried[1], overlap));
  }
  return results;
}

Value StripLowering::emitScores(const Tile &tile) {
  Value strip = empty({tile.numHeads, scoreRows, getStripWidth(tile)}, f32);
  // Two loops over blocks, because of one that may change what it has just
  // written, bufferization copies the strip.
  return loop(zero, index(tile.numHeads), strip, [&](Value c, Value strip) {
    auto emitDots = [&](Value block, Value column, Value strip) {
      return insertBlock(
          this->emitDots(tile, c, block, zero, scoreRows, zero, kKeys), strip,
          c, column);
    };
    auto emitRegions = [&](Value block, Value column, Value strip) {
      return emitRegionBlock(tile, c, block, column, strip);
    };
    return forEachBlock(tile, forEachBlock(tile, strip, emitDots), emitRegions);
  });
}

Value StripLowering::emitOverlap(const Tile &tile) {
  if (lead == 0)
    return nullptr;
  Value firstKey = multiply(tile.firstBlock, kKeys);
  // The scores of the last keys of a block before the first one's window.
  auto emitBlock = [&](Value c, Value block, int64_t lanes, Value overlap) {
    Value shift = multiply(block, kKeys);
    Value key = add(add(firstKey, shift), lead + kKeys - lanes);
    Value dots =
        emitDots(tile, c, block, zero, scoreRows, index(kKeys - lanes), lanes);
    return insertBlock(emitRegions(tile, add(tile.firstHead, c), key, dots),
                       overlap, c, add(shift, 2 * lead + kKeys - lanes));
  };
  auto emitHead = [&](Value c, Value overlap) {
    overlap = emitBlock(c, index(-leadBlocks), lead - (leadBlocks - 1) * kKeys,
                        overlap);
    return loop(index(1 - leadBlocks), zero, overlap,
                [&](Value block, Value overlap) {
                  return emitBlock(c, block, kKeys, overlap);
                });
  };
  // What is before the first key counts as 0, as all that is hidden.
  Value overlap = fill(empty({tile.numHeads, scoreRows, 2 * lead}, f32), 0.0);
  return loop(zero, index(tile.numHeads), overlap, emitHead);
}

void StripLowering::emitQueries(Tile &tile) {
  int64_t size = op.getQueryType().getDimSize(3);
  Value low = arith::MaxSIOp::create(b, loc, tile.first, zero);
  Value high =
      arith::MinSIOp::create(b, loc, add(tile.first, scoreRows), numQueries);
  Value count = subtract(high, low);
  Value rows = slice(
      op.getQuery(),
      {{tile.batch, tile.firstHead, low, 0}, {1, tile.numHeads, count, size}},
      3);
  Value scaled = map(rows, emptyLike(rows, f32), [&](ValueRange x) -> Value {
    return arith::MulFOp::create(b, loc, convert(x[0], f32), scale);
  });
  tile.queries =
      insert(scaled, fill(empty({tile.numHeads, scoreRows, size}, f32), 0.0),
             {{0, subtract(low, tile.first), 0}, {tile.numHeads, count, size}});
}

Value StripLowering::multiplyBlock(const Tile &tile, Value rows, Value blocks,
                                   Value c, Value block, Value row,
                                   int64_t numRows, Value lane, int64_t lanes) {
  int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(2);
  Value number = add(add(tile.firstBlock, block), leadBlocks);
  Value keys =
      slice(blocks,
            {{tile.batch, emitKeyHead(add(tile.firstHead, c)), number, 0, lane},
             {1, 1, 1, size, lanes}},
            2);
  Value factors = slice(rows, {{c, row, 0}, {1, numRows, size}}, 2);
  Value dots = fill(empty({numRows, lanes}, f32), 0.0);
  return linalg::MatmulOp::create(b, loc, dots.getType(),
                                  ValueRange{factors, keys}, dots)
      .getResult(0);
}

Value StripLowering::emitVisibleDots(const Tile &tile, Value c, Value block,
                                     Value column, Value window) {
  auto emitPart = [&](Value window, Value row, int64_t numRows, Value lane,
                      int64_t lanes) {
    Value dots = emitDots(tile, c, block, row, numRows, lane, lanes);
    return insert(dots, window,
                  {{c, row, add(column, lane)}, {1, numRows, lanes}});
  };
  if (!op.hasMask())
    return emitPart(window, zero, scoreRows, zero, kKeys);
  int64_t numRows = choosePartRows(scoreRows), lanes = kKeys / 2;
  Value head = add(tile.firstHead, c),
        firstKey = add(getFirstKey(tile, block), lead);
  auto emitUnlessEmpty = [&](Value window, Value row, Value lane) {
    BlockVerdict verdict =
        emitVerdict(tile, head, row, numRows, add(firstKey, lane), lanes);
    return either(
        verdict.isEmpty, [&] { return window; },
        [&] { return emitPart(window, row, numRows, lane, lanes); });
  };
  auto emitRows = [&](Value i, Value window) {
    Value row = multiply(i, numRows);
    return loop(zero, index(kKeys / lanes), window, [&](Value i, Value window) {
      return emitUnlessEmpty(window, row, multiply(i, lanes));
    });
  };
  BlockVerdict verdict =
      emitVerdict(tile, head, zero, scoreRows, firstKey, kKeys);
  return either(
      verdict.isFull,
      [&] { return emitPart(window, zero, scoreRows, zero, kKeys); },
      [&] { return loop(zero, index(scoreRows / numRows), window, emitRows); });
}

BlockVerdict StripLowering::emitVerdict(const Tile &tile, Value head, Value row,
                                        int64_t numRows, Value key,
                                        int64_t keys) {
  Value position = add(tile.position, row);
  RegionTile region;
  region.batch = tile.batch;
  region.head = head;
  region.positions = {position, add(position, numRows - 1)};
  region.keys = {key, add(key, keys - 1)};
  region.captures = op.getMaskCaptures();
  return emitBlockVerdict(b, loc, op.getMask(), region);
}

Value StripLowering::emitRegionBlock(const Tile &tile, Value c, Value block,
                                     Value column, Value strip,
                                     int64_t columnsBefore) {
  Value head = add(tile.firstHead, c);
  Value firstKey = add(getFirstKey(tile, block), lead);
  Value lastKey = add(firstKey, kKeys - 1);
  auto emit = [&](int64_t columnsBefore) {
    Value skipped = index(columnsBefore), first = subtract(column, skipped);
    Value dots =
        extractBlock(strip, c, 0, scoreRows, first, columnsBefore + kKeys);
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
  return either(
      isPartial, [&] { return emit(columnsBefore); }, [&] { return strip; });
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

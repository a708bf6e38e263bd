//===- StripScores.cpp - Scores of a strip --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripLowering.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

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
    Value head = mul(group, mixed);
    return loop(0, tile.numBlocks, carried,
                [&](Value block, ValueRange carried) {
                  return emitWindow(tile, head, block, carried);
                });
  };
  SmallVector<Value> results =
      loop(0, tile.numHeads / mixed, carried, emitGroup);
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
  part.queries = extract(
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
  window = loop(0, mixed, window, emitDots);
  window = loop(0, mixed, window, emitRegions);

  StageInput input = {.strip = window,
                      .marksAreZero = false,
                      .mark = -kInfinity,
                      .firstKey = getFirstKey(tile, block)};
  Box target{{head, 0, getColumn(block)}, {mixed, weightRows, kKeys}};
  Value staged = emitStages(part, before, input, index(lead), weightRows,
                            extract(carried[0], target), 0);
  SmallVector<Value> results = {insert(staged, carried[0], target)};
  if (lead > 0) {
    // Not a view of the window, which the next one takes the place of.
    auto next = bufferization::MaterializeInDestinationOp::create(
        *this, extract(window, getColumns(0, kKeys, 2 * lead)),
        extract(carried[1], overlap));
    results.push_back(insert(next.getResult(), carried[1], overlap));
  }
  return results;
}

Value StripLowering::emitScores(const Tile &tile) {
  Value strip = empty({tile.numHeads, scoreRows, getStripWidth(tile)}, f32);
  // Two loops over blocks, because of one that may change what it has just
  // written, bufferization copies the strip.
  return loop(0, tile.numHeads, strip, [&](Value c, Value strip) {
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
  Value firstKey = mul(tile.firstBlock, kKeys);
  // The scores of the last keys of a block before the first one's window.
  auto emitBlock = [&](Value c, Value block, int64_t lanes, Value overlap) {
    Value shift = mul(block, kKeys);
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
  return loop(0, tile.numHeads, overlap, emitHead);
}

void StripLowering::emitQueries(Tile &tile) {
  int64_t size = op.getQueryType().getDimSize(3);
  Value low = max(tile.first, zero);
  Value high = min(add(tile.first, scoreRows), numQueries);
  Value count = sub(high, low);
  Value rows = extract(
      op.getQuery(),
      {{tile.batch, tile.firstHead, low, 0}, {1, tile.numHeads, count, size}},
      3);
  Value scaled = map(rows, emptyLike(rows, f32), [&](ValueRange x) -> Value {
    return mulF(convert(x[0], f32), scale);
  });
  tile.queries =
      insert(scaled, fill(empty({tile.numHeads, scoreRows, size}, f32), 0.0),
             {{0, sub(low, tile.first), 0}, {tile.numHeads, count, size}});
}

Value StripLowering::multiplyBlock(const Tile &tile, Value rows, Value blocks,
                                   Value c, Value block, Value row,
                                   int64_t numRows, Value lane, int64_t lanes) {
  int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(2);
  Value number = add(add(tile.firstBlock, block), leadBlocks),
        head = emitKeyHead(add(tile.firstHead, c));
  Value keys = extract(
      blocks, {{tile.batch, head, number, 0, lane}, {1, 1, 1, size, lanes}}, 2);
  Value factors = extract(rows, {{c, row, 0}, {1, numRows, size}}, 2);
  Value dots = fill(empty({numRows, lanes}, f32), 0.0);
  // The next block, meanwhile.
  if (lanes == kKeys) {
    Value next = min(add(number, 1), sub(dim(blocks, 2), 1));
    PrefetchOp::create(*this, blocks, ValueRange{tile.batch, head, next, zero},
                       index(size))
        .setSpread(true);
  }
  return linalg::MatmulOp::create(*this, dots.getType(),
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
    return choose(
        verdict.isEmpty, [&] { return window; },
        [&] { return emitPart(window, row, numRows, lane, lanes); });
  };
  auto emitRows = [&](Value i, Value window) {
    Value row = mul(i, numRows);
    return loop(0, kKeys / lanes, window, [&](Value i, Value window) {
      return emitUnlessEmpty(window, row, mul(i, lanes));
    });
  };
  BlockVerdict verdict =
      emitVerdict(tile, head, zero, scoreRows, firstKey, kKeys);
  return choose(
      verdict.isFull,
      [&] { return emitPart(window, zero, scoreRows, zero, kKeys); },
      [&] { return loop(0, scoreRows / numRows, window, emitRows); });
}

BlockVerdict StripLowering::emitVerdict(const Tile &tile, Value head, Value row,
                                        int64_t numRows, Value key,
                                        int64_t keys) {
  Value position = add(tile.position, row);
  return emitBlockVerdict(*this, getLoc(), op.getMask(),
                          {tile.batch,
                           head,
                           {position, add(position, numRows - 1)},
                           {key, add(key, keys - 1)},
                           op.getMaskCaptures()});
}

Value StripLowering::emitRegionBlock(const Tile &tile, Value c, Value block,
                                     Value column, Value strip,
                                     int64_t columnsBefore) {
  Value head = add(tile.firstHead, c);
  Value firstKey = add(getFirstKey(tile, block), lead);
  Value lastKey = add(firstKey, kKeys - 1);
  auto emit = [&](int64_t columnsBefore) {
    Value skipped = index(columnsBefore), first = sub(column, skipped);
    Value dots =
        extractBlock(strip, c, 0, scoreRows, first, columnsBefore + kKeys);
    return insertBlock(emitRegions(tile, head, sub(firstKey, skipped), dots),
                       strip, c, first);
  };
  if (op.hasScore())
    return emit(0);
  // Of most blocks, every position counts, and a product is a score.
  Value isPartial =
      bitOr(compare(arith::CmpIPredicate::slt, tile.first, zero), // T4
            compare(arith::CmpIPredicate::sge, lastKey, tile.end));
  if (op.hasMask()) {
    BlockVerdict verdict =
        emitVerdict(tile, head, zero, scoreRows, firstKey, kKeys);
    Value yes = boolean(true);
    isPartial =
        bitOr(isPartial, arith::XOrIOp::create(*this, verdict.isFull, yes));
  }
  return choose(
      isPartial, [&] { return emit(columnsBefore); }, [&] { return strip; });
}

Value StripLowering::emitRegions(const Tile &tile, Value head, Value firstKey,
                                 Value dots) {
  return map({}, dots, [&](ValueRange elements) -> Value {
    Value row = add(iteration(0), tile.first),
          p = add(iteration(0), tile.position), j = add(iteration(1), firstKey);
    SmallVector<Value> position = {tile.batch, head, p, j};
    Value score = elements[0];
    if (op.hasScore()) {
      SmallVector<Value> arguments = {score};
      llvm::append_range(arguments, position);
      llvm::append_range(arguments, op.getScoreCaptures());
      score = evaluateRegion(*this, op.getScore(), arguments).value;
    }
    // T4: unsigned for both ends.
    Value keep = compare(arith::CmpIPredicate::ult, j, tile.end);
    keep = bitAnd(keep, compare(arith::CmpIPredicate::ult, row, numQueries));
    if (op.hasMask()) {
      SmallVector<Value> arguments(position);
      llvm::append_range(arguments, op.getMaskCaptures());
      keep = bitAnd(keep, evaluateRegion(*this, op.getMask(), arguments).value);
    }
    return select(keep, score, minusInfinity());
  });
}

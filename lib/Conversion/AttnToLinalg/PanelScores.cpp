//===- PanelScores.cpp - Scores of a panel --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/MaskAnalysis.h"
#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

Value PanelLowering::emitScores(const Tile &tile) {
  Value width = arith::MulIOp::create(b, loc, tile.numBlocks, index(kKeys));
  Value panel = empty({b.getIndexAttr(heads), b.getIndexAttr(scoreRows),
                       OpFoldResult(add(width, index(scoreMargin + margin)))},
                      f32);
  if (before.kernel)
    panel = fillMargins(tile, panel, scoreMargin, scoreRows, -kInfinity);
  // Two loops over blocks, because of one that may change what it has just
  // written, bufferization copies the panel.
  return loop(zero, index(heads), panel,
              [&](Value c, ValueRange panels) {
                Value head = add(tile.firstHead, c);
                Value query = emitQueries(tile, head);
                auto emitDots = [&](Value block, Value column, Value panel) {
                  return insertBlock(emitDotBlock(tile, head, query, block),
                                     panel, c, column);
                };
                Value dots =
                    forEachBlock(tile, scoreMargin, panels[0], emitDots);
                auto emitRegions = [&](Value block, Value column, Value panel) {
                  return emitRegionBlock(tile, c, block, column, panel);
                };
                return SmallVector<Value>{
                    forEachBlock(tile, scoreMargin, dots, emitRegions)};
              })
      .front();
}

Value PanelLowering::emitQueries(const Tile &tile, Value head) {
  int64_t size = op.getQueryType().getDimSize(3);
  Value low = arith::MaxSIOp::create(b, loc, tile.first, zero);
  Value high = arith::MinSIOp::create(b, loc, add(tile.first, index(scoreRows)),
                                      numQueries);
  Value count = subtract(high, low);
  Value rows = extractRows(op.getQuery(), tile.batch, head, low, count);
  Value scaled =
      map(rows, empty(tensor::getMixedSizes(b, loc, rows), f32),
          [&](ValueRange x) -> Value {
            return arith::MulFOp::create(b, loc, convert(x[0], f32), scale);
          });
  Value queries =
      fill(empty({b.getIndexAttr(scoreRows), b.getIndexAttr(size)}, f32), 0.0);
  return insert(scaled, queries,
                {{subtract(low, tile.first), b.getIndexAttr(0)},
                 {count, b.getIndexAttr(size)}});
}

Value PanelLowering::emitDotBlock(const Tile &tile, Value head, Value query,
                                  Value block) {
  int64_t size = op.getQueryType().getDimSize(3);
  OpFoldResult one = b.getIndexAttr(1), none = b.getIndexAttr(0);
  Value keys = extractBox(
      keyBlocks,
      {{tile.batch, emitKeyHead(head), add(tile.firstBlock, block), none, none},
       {one, one, one, b.getIndexAttr(size), b.getIndexAttr(kKeys)}},
      {size, kKeys});
  Value dots =
      fill(empty({b.getIndexAttr(scoreRows), b.getIndexAttr(kKeys)}, f32), 0.0);
  return linalg::MatmulOp::create(b, loc, dots.getType(),
                                  ValueRange{query, keys}, dots)
      .getResult(0);
}

Value PanelLowering::emitRegionBlock(const Tile &tile, Value c, Value block,
                                     Value column, Value panel) {
  Value head = add(tile.firstHead, c);
  Value firstKey =
      arith::MulIOp::create(b, loc, add(tile.firstBlock, block), index(kKeys));
  Value lastKey = add(firstKey, index(kKeys - 1));
  auto emit = [&] {
    Value dots =
        extractBlock(panel, c, 0, scoreRows, column, b.getIndexAttr(kKeys));
    return insertBlock(emitRegions(tile, head, firstKey, dots), panel, c,
                       column);
  };
  if (op.hasScore())
    return emit();
  // Of most blocks, every position counts, and a product is a score.
  Value isPartial = arith::OrIOp::create(
      b, loc, compare(arith::CmpIPredicate::slt, tile.first, zero), // T4
      compare(arith::CmpIPredicate::sge, lastKey, tile.end));
  if (op.hasMask()) {
    RegionTile region;
    region.batch = tile.batch;
    region.head = head;
    region.positions = {tile.position,
                        add(tile.position, index(scoreRows - 1))};
    region.keys = {firstKey, lastKey};
    region.captures = op.getMaskCaptures();
    BlockVerdict verdict = emitBlockVerdict(b, loc, op.getMask(), region);
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    isPartial = arith::OrIOp::create(
        b, loc, isPartial, arith::XOrIOp::create(b, loc, verdict.isFull, yes));
  }
  return scf::IfOp::create(
             b, loc, isPartial,
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(b, loc, emit());
             },
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(b, loc, panel);
             })
      .getResult(0);
}

Value PanelLowering::emitRegions(const Tile &tile, Value head, Value firstKey,
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
    Value keep = compare(arith::CmpIPredicate::slt, j, tile.end);
    // T4: rows before the first; unsigned for both ends.
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

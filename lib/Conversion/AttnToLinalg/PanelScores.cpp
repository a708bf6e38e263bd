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

Value PanelLowering::emitScores(const Tile &tile, Value overlap) {
  Value panel = empty({b.getIndexAttr(tile.numHeads), b.getIndexAttr(scoreRows),
                       getPanelWidth(tile)},
                      f32);
  if (overlap)
    panel = insert(overlap, panel, getOverlap(tile, b.getIndexAttr(0)));
  else if (before.kernel)
    panel = fillMargins(tile, panel, scoreColumn, scoreRows, -kInfinity);
  // Two loops over blocks, because of one that may change what it has just
  // written, bufferization copies the panel.
  return loop(zero, index(tile.numHeads), panel,
              [&](Value c, ValueRange panels) {
                auto emitDots = [&](Value block, Value column, Value panel) {
                  return insertBlock(emitDotBlock(tile, c, block), panel, c,
                                     column);
                };
                Value dots =
                    forEachBlock(tile, scoreColumn, panels[0], emitDots);
                auto emitRegions = [&](Value block, Value column, Value panel) {
                  return emitRegionBlock(tile, c, block, column, panel);
                };
                return SmallVector<Value>{
                    forEachBlock(tile, scoreColumn, dots, emitRegions)};
              })
      .front();
}

Value PanelLowering::emitOverlap(const Tile &tile) {
  int64_t lanes = 2 * lead;
  Value firstKey =
      subtract(arith::MulIOp::create(b, loc, tile.firstBlock, index(kKeys)),
               index(lead));
  auto emitHead = [&](Value c, ValueRange overlaps) {
    // The block of keys before the first of a chunk's scores.
    Value dots = emitDotBlock(tile, c, index(-1), lanes);
    Value scores = emitRegions(tile, add(tile.firstHead, c), firstKey, dots);
    return SmallVector<Value>{
        insertBlock(scores, overlaps[0], c, b.getIndexAttr(0))};
  };
  Value overlap = empty({b.getIndexAttr(tile.numHeads),
                         b.getIndexAttr(scoreRows), b.getIndexAttr(lanes)},
                        f32);
  return loop(zero, index(tile.numHeads), overlap, emitHead).front();
}

void PanelLowering::emitQueries(Tile &tile) {
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

Value PanelLowering::emitDotBlock(const Tile &tile, Value c, Value block,
                                  int64_t lanes) {
  int64_t size = op.getQueryType().getDimSize(3);
  OpFoldResult one = b.getIndexAttr(1), none = b.getIndexAttr(0),
               columns = b.getIndexAttr(size);
  Value number = add(tile.firstBlock, block);
  if (lead > 0)
    number = add(number, index(1));
  Value keys = extractBox(keyBlocks,
                          {{tile.batch, emitKeyHead(add(tile.firstHead, c)),
                            number, none, b.getIndexAttr(kKeys - lanes)},
                           {one, one, one, columns, b.getIndexAttr(lanes)}},
                          {size, lanes});
  Value query =
      extractBox(tile.queries,
                 {{c, none, none}, {one, b.getIndexAttr(scoreRows), columns}},
                 {scoreRows, size});
  Value dots =
      fill(empty({b.getIndexAttr(scoreRows), b.getIndexAttr(lanes)}, f32), 0.0);
  return linalg::MatmulOp::create(b, loc, dots.getType(),
                                  ValueRange{query, keys}, dots)
      .getResult(0);
}

Value PanelLowering::emitRegionBlock(const Tile &tile, Value c, Value block,
                                     Value column, Value panel) {
  Value head = add(tile.firstHead, c);
  Value firstKey = add(
      arith::MulIOp::create(b, loc, add(tile.firstBlock, block), index(kKeys)),
      index(lead));
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

//===- PanelTiles.cpp - Tiles of one panel, and of a panel for each chunk -===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without stages after the softmax, it is an online softmax: what was summed
// before a chunk is multiplied by exp(m - new m). With mixing alone after it,
// whose result the sums of all keys divide before heads are added up, scores
// are computed twice: for the sums, head by head, and for the output. That is
// less than what a panel of all keys costs that does not stay in the
// second-level cache.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of all heads of a tile with a panel of all keys, but of the smallest:
/// of more, it would not stay in the second-level cache.
static constexpr int64_t kMostRowsOfHeads = 384;

/// Elements of a panel that leaves room for keys and values beside it, and rows
/// of fewer than which keys and values would be read too often.
static constexpr int64_t kBestOfPanel = 256 * 1024;
static constexpr int64_t kLeastRowsOfPanel = 24;

/// Elements of a panel of all keys, from which on it takes longer than to
/// compute scores twice: twice what the second-level cache holds.
static constexpr int64_t kMostOfPanel = 1024 * 1024;

/// Elements of a chunk's panel at most, but of one of the smallest.
static constexpr int64_t kMostOfChunk = 64 * 1024;

/// Blocks of keys of a chunk at most. More make a panel larger, and what is
/// done once for a chunk no cheaper.
static constexpr int64_t kMostBlocksOfChunk = 8;

int64_t PanelLowering::getRowsOfPanel(int64_t mostRows) {
  int64_t rows = std::min(mostRows,
                          std::max(kMostRowsOfHeads / heads, kRowMultiple)),
          keys = op.getKeyType().getDimSize(2);
  // With kernels, fewer rows would have more of a halo.
  if (before.kernel || after.kernel || ShapedType::isDynamic(keys))
    return rows;
  int64_t fitting = kBestOfPanel / std::max<int64_t>(heads * keys, 1);
  return std::min(
      rows, std::max(fitting / kRowMultiple * kRowMultiple, kLeastRowsOfPanel));
}

bool PanelLowering::canHaveChunks(int64_t mostRows) {
  // Rows of different sums are added up; and two convolutions read more than
  // what a chunk passes on to the next one.
  if (after.kernel || (before.kernel && margin > 16))
    return false;
  if (!after.mixing)
    return true;
  int64_t keys = op.getKeyType().getDimSize(2);
  return !before.kernel && !before.mixing && !ShapedType::isDynamic(keys) &&
         keys > kMostOfPanel / (heads * getRowsOfPanel(mostRows));
}

void PanelLowering::chooseTile(int64_t mostRows) {
  margin = llvm::alignTo(
      std::max<int64_t>({before.getKeyHalo(), after.getKeyHalo(), 1}), 16);
  bool hasChunks = canHaveChunks(mostRows);
  tileRows = hasChunks ? mostRows : getRowsOfPanel(mostRows);
  if (int64_t rows = cast<ShapedType>(op.getOutput().getType()).getDimSize(2);
      !ShapedType::isDynamic(rows))
    tileRows = std::min(tileRows, rows);
  int64_t multiple = tileRows < kRowMultiple ? 1 : kRowMultiple;
  weightRows = llvm::alignTo(tileRows + after.getQueryHalo(), multiple);
  scoreRows = llvm::alignTo(weightRows + before.getQueryHalo(), multiple);
  if (!hasChunks) {
    chunkBlocks = lead = 0;
    weightColumn = margin;
    scoreColumn = stageColumn = before.kernel ? 2 * margin : margin;
    return;
  }
  int64_t blocks = kMostOfChunk / (heads * scoreRows * kKeys);
  if (int64_t keys = op.getKeyType().getDimSize(2);
      !ShapedType::isDynamic(keys))
    blocks = std::min(blocks, int64_t(llvm::divideCeil(keys, kKeys)));
  chunkBlocks = std::clamp<int64_t>(blocks, 1, kMostBlocksOfChunk);
  lead = before.kernel ? margin : 0;
  weightColumn = 0;
  stageColumn = lead;
  scoreColumn = 2 * lead;
}

SmallVector<Value> PanelLowering::emitUntilFinite(
    ValueRange destinations,
    function_ref<SmallVector<Value>(ValueRange, Value exact)> body) {
  Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false)),
        yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  SmallVector<Value> initial(destinations);
  initial.push_back(no);
  auto rounds = scf::WhileOp::create(
      b, loc, TypeRange(ValueRange(initial)), initial,
      [&](OpBuilder &, Location, ValueRange carried) {
        Value exact = carried.back();
        SmallVector<Value> results = body(carried.drop_back(), exact);
        Value isFinite =
            AllFiniteOp::create(b, loc, b.getI1Type(), results.front());
        Value done = arith::OrIOp::create(b, loc, exact, isFinite);
        results.push_back(exact);
        scf::ConditionOp::create(
            b, loc, arith::XOrIOp::create(b, loc, done, yes), results);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        SmallVector<Value> next(carried.drop_back());
        next.push_back(yes);
        scf::YieldOp::create(b, loc, next);
      });
  return llvm::to_vector_of<Value>(rounds.getResults().drop_back());
}

PanelLowering::TileResult PanelLowering::emitWholeTile(const Tile &tile) {
  Value panel = emitScores(tile);
  if (before.kernel || before.mixing)
    panel = emitStagesBefore(tile, panel);
  Update update = emitUpdate(tile, panel, createSoftmax());
  panel = update.panel;
  if (after.kernel)
    panel = fillMargins(tile, panel, weightColumn, weightRows, 0.0);
  Normalization normalization = emitNormalization(tile, update.softmax);
  // Weights of 0 make NaN of what a hidden row must not hold. That is rare.
  auto emitRound = [&](ValueRange destinations, Value exact) {
    return SmallVector<Value>{emitSums(tile, panel, normalization.inverse,
                                       exact, fill(destinations[0], 0.0))};
  };
  return {emitUntilFinite(createSums(), emitRound).front(), normalization};
}

SmallVector<Value> PanelLowering::forEachChunk(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, Value, ValueRange)> body) {
  // What convolutions read of the chunk before goes along.
  SmallVector<Value> carried(initial);
  if (lead > 0)
    carried.push_back(emitOverlap(tile));
  Value size = index(chunkBlocks);
  Value count = arith::CeilDivUIOp::create(b, loc, tile.numBlocks, size);
  auto emitChunk = [&](Value number, ValueRange carried) {
    Tile chunk = tile;
    Value skipped = arith::MulIOp::create(b, loc, number, size);
    chunk.firstBlock = add(tile.firstBlock, skipped);
    chunk.numBlocks =
        arith::MinUIOp::create(b, loc, subtract(tile.numBlocks, skipped), size);
    Value panel = emitScores(chunk, lead > 0 ? carried.back() : Value());
    Value next;
    if (lead > 0) {
      Value end = arith::MulIOp::create(b, loc, chunk.numBlocks, index(kKeys));
      next = map(extract(panel, getOverlap(end)), carried.back(),
                 [](ValueRange x) { return x[0]; });
    }
    if (before.kernel || before.mixing)
      panel = emitStagesBefore(chunk, panel);
    SmallVector<Value> results =
        body(chunk, panel, lead > 0 ? carried.drop_back() : carried);
    if (lead > 0)
      results.push_back(next);
    return results;
  };
  SmallVector<Value> results = loop(zero, count, carried, emitChunk);
  results.truncate(initial.size());
  return results;
}

PanelLowering::TileResult PanelLowering::emitChunkedTile(const Tile &tile) {
  Softmax start = createSoftmax();
  auto emitRound = [&](ValueRange destinations, Value exact) {
    SmallVector<Value> initial = {fill(destinations[0], 0.0),
                                  fill(destinations[1], -kInfinity),
                                  fill(destinations[2], 0.0)};
    auto emitChunk = [&](const Tile &chunk, Value panel, ValueRange carried) {
      Update update = emitUpdate(chunk, panel, {carried[1], carried[2]});
      Value factor =
          extract(update.factor,
                  {{b.getIndexAttr(0), b.getIndexAttr(weightRows - tileRows)},
                   {b.getIndexAttr(heads), b.getIndexAttr(tileRows)}});
      Value sums = map(factor, carried[0], [&](ValueRange x) -> Value {
        return arith::MulFOp::create(b, loc, x[1], x[0]);
      });
      sums = emitSums(chunk, update.panel, Value(), exact, sums);
      return SmallVector<Value>{sums, update.softmax.largest,
                                update.softmax.sum};
    };
    return forEachChunk(tile, initial, emitChunk);
  };
  SmallVector<Value> results =
      emitUntilFinite({createSums(), start.largest, start.sum}, emitRound);
  return {results[0], emitNormalization(tile, {results[1], results[2]})};
}

PanelLowering::TileResult PanelLowering::emitTwicePassedTile(const Tile &tile) {
  Softmax start = createSoftmax();
  auto sumChunk = [&](const Tile &chunk, Value panel, ValueRange carried) {
    Update update = emitUpdate(chunk, panel, {carried[0], carried[1]});
    return SmallVector<Value>{update.softmax.largest, update.softmax.sum};
  };
  SmallVector<Value> rows =
      forEachChunk(tile, {start.largest, start.sum}, sumChunk);
  Softmax softmax = {rows[0], rows[1]};
  Normalization normalization = emitNormalization(tile, softmax);
  auto emitRound = [&](ValueRange destinations, Value exact) {
    auto emitChunk = [&](const Tile &chunk, Value panel, ValueRange carried) {
      panel = emitWeights(chunk, panel, softmax.largest, normalization.inverse);
      return SmallVector<Value>{
          emitSums(chunk, panel, Value(), exact, carried[0])};
    };
    return forEachChunk(tile, fill(destinations[0], 0.0), emitChunk);
  };
  return {emitUntilFinite(createSums(), emitRound).front(), normalization};
}

//===- PanelTiles.cpp - Tiles of one panel, and of a panel for each chunk -===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without stages after the softmax, it is an online softmax: what was summed
// before a chunk is multiplied by exp(m - new m).
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of all heads of a tile with a panel of all keys, but of the smallest:
/// of more, it would not stay in the second-level cache.
static constexpr int64_t kMostRowsOfHeads = 384;

/// Elements of a chunk's panel at most, but of one of the smallest.
static constexpr int64_t kMostOfChunk = 64 * 1024;

/// Blocks of keys of a chunk at most. More make a panel larger, and what is
/// done once for a chunk no cheaper.
static constexpr int64_t kMostBlocksOfChunk = 8;

bool PanelLowering::canHaveChunks() {
  // A convolution after the softmax reads across chunks; and one before it, of
  // more keys than what a chunk passes on to the next one.
  return !after.kernel && (!before.kernel || margin <= 16);
}

void PanelLowering::chooseTile(int64_t mostRows) {
  margin = llvm::alignTo(
      std::max<int64_t>({before.getKeyHalo(), after.getKeyHalo(), 1}), 16);
  bool hasChunks = canHaveChunks();
  tileRows = hasChunks ? mostRows
                       : std::min(mostRows, std::max(kMostRowsOfHeads / heads,
                                                     kRowMultiple));
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
  int64_t blocks = kMostOfChunk / (getChunkHeads() * scoreRows * kKeys);
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
  Box columns = getKeyColumns(tile, weightColumn, weightRows);
  Update update = emitUpdate(extract(panel, columns), createSoftmax(heads));
  panel = insert(update.weights, panel, columns);
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

SmallVector<Value> PanelLowering::loopOverChunks(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, ValueRange)> body) {
  Value size = index(chunkBlocks);
  Value count = arith::CeilDivUIOp::create(b, loc, tile.numBlocks, size);
  return loop(zero, count, initial, [&](Value number, ValueRange carried) {
    Tile chunk = tile;
    Value skipped = arith::MulIOp::create(b, loc, number, size);
    chunk.chunk = number;
    chunk.firstBlock = add(tile.firstBlock, skipped);
    chunk.numBlocks =
        arith::MinUIOp::create(b, loc, subtract(tile.numBlocks, skipped), size);
    return body(chunk, carried);
  });
}

SmallVector<Value> PanelLowering::forEachChunk(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, Value, ValueRange)> body) {
  // What convolutions read of the chunk before goes along.
  SmallVector<Value> carried(initial);
  if (lead > 0)
    carried.push_back(emitOverlap(tile));
  auto emitChunk = [&](const Tile &chunk, ValueRange carried) {
    Value panel = emitScores(chunk, lead > 0 ? carried.back() : Value());
    Value next;
    if (lead > 0) {
      Value end = arith::MulIOp::create(b, loc, chunk.numBlocks, index(kKeys));
      next = map(extract(panel, getOverlap(chunk, end)), carried.back(),
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
  SmallVector<Value> results = loopOverChunks(tile, carried, emitChunk);
  results.truncate(initial.size());
  return results;
}

PanelLowering::TileResult PanelLowering::emitChunkedTile(const Tile &tile) {
  Softmax start = createSoftmax(heads);
  auto emitRound = [&](ValueRange destinations, Value exact) {
    SmallVector<Value> initial = {fill(destinations[0], 0.0),
                                  fill(destinations[1], -kInfinity),
                                  fill(destinations[2], 0.0)};
    auto emitChunk = [&](const Tile &chunk, Value panel, ValueRange carried) {
      Box columns = getKeyColumns(chunk, weightColumn, weightRows);
      Update update =
          emitUpdate(extract(panel, columns), {carried[1], carried[2]});
      Value factor =
          extract(update.factor,
                  {{b.getIndexAttr(0), b.getIndexAttr(weightRows - tileRows)},
                   {b.getIndexAttr(heads), b.getIndexAttr(tileRows)}});
      Value sums = map(factor, carried[0], [&](ValueRange x) -> Value {
        return arith::MulFOp::create(b, loc, x[1], x[0]);
      });
      panel = insert(update.weights, panel, columns);
      sums = emitSums(chunk, panel, Value(), exact, sums);
      return SmallVector<Value>{sums, update.softmax.largest,
                                update.softmax.sum};
    };
    return forEachChunk(tile, initial, emitChunk);
  };
  SmallVector<Value> results =
      emitUntilFinite({createSums(), start.largest, start.sum}, emitRound);
  return {results[0], emitNormalization(tile, {results[1], results[2]})};
}

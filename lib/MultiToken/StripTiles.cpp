//===- StripTiles.cpp - Tiles of one strip, and of a strip for each chunk -===//
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

#include "lib/MultiToken/StripLowering.h"

using namespace mlir;
using namespace mlir::attn;

void StripLowering::setTile(PlanAttr plan) {
  margin = llvm::alignTo(
      std::max<int64_t>({before.getKeyHalo(), after.getKeyHalo(), 1}), 16);
  tileRows = plan.getRows();
  int64_t multiple = tileRows < kRowMultiple ? 1 : kRowMultiple;
  weightRows = llvm::alignTo(tileRows + after.getQueryHalo(), multiple);
  scoreRows = llvm::alignTo(weightRows + before.getQueryHalo(), multiple);
  lead = before.kernel ? margin : 0;
  leadBlocks = llvm::divideCeil(lead, kKeys);
  firstColumn = after.kernel ? margin : 0;
  chunkBlocks = plan.getKeys() / kKeys;
}

SmallVector<Value> StripLowering::emitUntilFinite(
    ValueRange destinations,
    function_ref<SmallVector<Value>(ValueRange, Value exact)> body) {
  Value no = boolean(false), yes = boolean(true);
  SmallVector<Value> initial(destinations);
  initial.push_back(no);
  auto rounds = scf::WhileOp::create(
      *this, TypeRange(ValueRange(initial)), initial,
      [&](OpBuilder &, Location, ValueRange carried) {
        Value exact = carried.back();
        SmallVector<Value> results = body(carried.drop_back(), exact);
        Value isFinite =
            AllFiniteOp::create(*this, getI1Type(), results.front());
        Value done = bitOr(exact, isFinite);
        results.push_back(exact);
        scf::ConditionOp::create(*this, arith::XOrIOp::create(*this, done, yes),
                                 results);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        SmallVector<Value> next(carried.drop_back());
        next.push_back(yes);
        scf::YieldOp::create(*this, next);
      });
  return llvm::to_vector_of<Value>(rounds.getResults().drop_back());
}

StripLowering::TileResult StripLowering::emitWholeTile(const Tile &tile) {
  Value overlap = emitOverlap(tile);
  Value strip = emitStrip(tile, overlap);
  Box columns = getKeyColumns(tile);
  Update update = emitUpdate(extract(strip, columns), createSoftmax(heads));
  strip = fillMargins(tile, insert(update.weights, strip, columns));
  Normalization normalization = emitNormalization(tile, update.softmax);
  // Weights of 0 make NaN of what a hidden row must not hold. That is rare.
  auto emitRound = [&](ValueRange destinations, Value exact) {
    return SmallVector<Value>{emitSums(tile, strip, normalization.inverse,
                                       exact, fill(destinations[0], 0.0))};
  };
  return {emitUntilFinite(createSums(), emitRound).front(), normalization};
}

SmallVector<Value> StripLowering::loopOverChunks(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, ValueRange)> body) {
  Value size = index(chunkBlocks);
  Value count = ceilDiv(tile.numBlocks, size);
  return loop(0, count, initial, [&](Value number, ValueRange carried) {
    Tile chunk = tile;
    Value skipped = mul(number, size);
    chunk.chunk = number;
    chunk.firstBlock = add(tile.firstBlock, skipped);
    chunk.numBlocks = minU(sub(tile.numBlocks, skipped), size);
    return body(chunk, carried);
  });
}

SmallVector<Value> StripLowering::forEachChunk(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, Value, ValueRange)> body) {
  // What convolutions read of the chunk before goes along.
  SmallVector<Value> carried(initial);
  if (Value overlap = emitOverlap(tile))
    carried.push_back(overlap);
  auto emitChunk = [&](const Tile &chunk, ValueRange carried) {
    Value overlap = lead > 0 ? carried.back() : Value();
    Value strip = emitStrip(chunk, overlap);
    SmallVector<Value> results =
        body(chunk, strip, carried.take_front(initial.size()));
    if (overlap)
      results.push_back(overlap);
    return results;
  };
  SmallVector<Value> results = loopOverChunks(tile, carried, emitChunk);
  results.truncate(initial.size());
  return results;
}

StripLowering::TileResult StripLowering::emitChunkedTile(const Tile &tile) {
  Softmax start = createSoftmax(heads);
  auto emitRound = [&](ValueRange destinations, Value exact) {
    SmallVector<Value> initial = {fill(destinations[0], 0.0),
                                  fill(destinations[1], -kInfinity),
                                  fill(destinations[2], 0.0)};
    auto emitChunk = [&](const Tile &chunk, Value strip, ValueRange carried) {
      Box columns = getKeyColumns(chunk);
      Update update =
          emitUpdate(extract(strip, columns), {carried[1], carried[2]});
      Value factor = extract(update.factor,
                             {{0, weightRows - tileRows}, {heads, tileRows}});
      Value sums = map(factor, carried[0],
                       [&](ValueRange x) -> Value { return mulF(x[1], x[0]); });
      strip = insert(update.weights, strip, columns);
      sums = emitSums(chunk, strip, Value(), exact, sums);
      return SmallVector<Value>{sums, update.softmax.largest,
                                update.softmax.sum};
    };
    return forEachChunk(tile, initial, emitChunk);
  };
  SmallVector<Value> results =
      emitUntilFinite({createSums(), start.largest, start.sum}, emitRound);
  return {results[0], emitNormalization(tile, {results[1], results[2]})};
}

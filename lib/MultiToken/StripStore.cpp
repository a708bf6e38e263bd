//===- StripStore.cpp - Tiles that store the weights of their chunks ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mixing after the softmax adds up weights that were divided by the sums of all
// keys, so that none can begin before the last key of all heads. Head by head,
// an online softmax goes over chunks that stay in the second-level cache, and
// stores their weights, relative to the largest score up to then. What they are
// multiplied by in the end is a factor of each chunk's rows, which mixing has
// anyway. So what leaves the cache is written once and read once.
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripLowering.h"

using namespace mlir;
using namespace mlir::attn;

StripLowering::Store StripLowering::createStore() {
  // As many for each tile: memory of one size is used again by the next.
  Value numChunks = ceilDiv(numKeys, chunkBlocks * kKeys);
  return {empty({getAsOpFoldResult(numChunks), heads, weightRows,
                 chunkBlocks * kKeys + margin},
                f32),
          empty({getAsOpFoldResult(numChunks), heads, weightRows}, f32),
          createSoftmax(heads)};
}

StripLowering::Store StripLowering::storeWeights(const Tile &tile) {
  int64_t count = getChunkHeads(), features = op.getQueryType().getDimSize(3);
  auto storeHeads = [&](Value step, ValueRange stored) {
    Value c = mul(step, count);
    Tile part = tile;
    part.numHeads = count;
    part.firstHead = add(tile.firstHead, c);
    part.queries =
        extract(tile.queries, {{c, 0, 0}, {count, scoreRows, features}});
    auto storeChunk = [&](const Tile &chunk, Value strip, ValueRange carried) {
      Box columns = getKeyColumns(chunk);
      Box place = {{chunk.chunk, c, 0, 0},
                   {1, count, weightRows, columns.sizes.back()}};
      Value destination = extract(carried[0], place, 3);
      Update update = emitUpdate(extract(strip, columns),
                                 {carried[2], carried[3]}, destination);
      return SmallVector<Value>{
          insert(update.weights, carried[0], place),
          insert(update.softmax.largest, carried[1],
                 {{chunk.chunk, c, 0}, {1, count, weightRows}}),
          update.softmax.largest, update.softmax.sum};
    };
    Softmax start = createSoftmax(count);
    SmallVector<Value> results = forEachChunk(
        part, {stored[0], stored[1], start.largest, start.sum}, storeChunk);
    Box place = {{c, 0}, {count, weightRows}};
    return SmallVector<Value>{results[0], results[1],
                              insert(results[2], stored[2], place),
                              insert(results[3], stored[3], place)};
  };
  Store start = createStore();
  SmallVector<Value> stored = loop(
      0, heads / count,
      {start.weights, start.largest, start.softmax.largest, start.softmax.sum},
      storeHeads);
  return {stored[0], stored[1], {stored[2], stored[3]}};
}

StripLowering::TileResult StripLowering::emitStoredTile(const Tile &tile) {
  Store store = storeWeights(tile);
  Normalization normalization = emitNormalization(tile, store.softmax);
  Value factors =
      map({store.softmax.largest, normalization.inverse}, store.largest,
          [&](ValueRange x) {
            Value power = subF(x[2], finiteOrZero(x[0]));
            Value factor = mulF(emitExp(power), x[1]);
            // All keys of the chunk and before are hidden.
            return select(isMinusInfinity(x[2]), real(0.0), factor);
          },
          /*alignLast=*/{true, true});
  int64_t width = cast<RankedTensorType>(store.weights.getType()).getDimSize(3);
  auto emitRound = [&](ValueRange destinations, Value exact) {
    auto emitChunk = [&](const Tile &chunk, ValueRange sums) {
      Value weights =
          extract(store.weights,
                  {{chunk.chunk, 0, 0, 0}, {1, heads, weightRows, width}}, 3);
      Value ofRows =
          extract(factors, {{chunk.chunk, 0, 0}, {1, heads, weightRows}}, 2);
      return SmallVector<Value>{
          emitSums(chunk, weights, ofRows, exact, sums[0])};
    };
    return loopOverChunks(tile, fill(destinations[0], 0.0), emitChunk);
  };
  return {emitUntilFinite(createSums(), emitRound).front(), normalization};
}

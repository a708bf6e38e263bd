//===- MultiTokenCode.cpp - Strips of multi-token attention ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/MultiTokenCode.h"
#include "lib/Reference/StageCode.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of the output that are computed together.
static constexpr int64_t kTileRows = 16;

void MultiTokenCode::prepare() {
  scale = emitScale();
  StageCode code(getLoc(), *this);
  before = code.convertElements(before, accumulation);
  after = code.convertElements(after, accumulation);
  numKeys = dim(op.getKey(), 2);
}

SmallVector<Value> MultiTokenCode::loopOverTiles(
    ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, ValueRange)> body) {
  Value numQueries = dim(op.getQuery(), 2);
  Value numRows = dim(op.getOutput(), 2);
  Value numTiles = ceilDiv(numRows, kTileRows);
  Value numBatches = emitBatchSize(op.getQuery(), numRows);
  return loop(0, numBatches, initial, [&](Value n, ValueRange carried) {
    Tile tile;
    tile.batch = n;
    tile.position = op.createFirstPosition(*this, n, numQueries, numKeys); // T1
    return loop(0, numTiles, carried, [&](Value t, ValueRange carried) {
      tile.begin = mul(t, kTileRows);
      tile.count = minU(sub(numRows, tile.begin), kTileRows);
      Value past = sub(numQueries, numRows); // T2
      Value first = add(past, tile.begin);
      // However many rows the kernels have, T4.
      tile.before = minU(first, op.getHalo());
      tile.first = sub(first, tile.before);
      tile.rows = add(tile.before, tile.count);
      return body(tile, carried);
    });
  });
}

Value MultiTokenCode::emitDots(const Tile &tile, Value head, Value r) {
  Value query = extractRow(op.getQuery(), tile.batch, head, add(tile.first, r));
  Value key = extractRows(op.getKey(), tile.batch, emitKeyHead(head), index(0),
                          numKeys);
  return multiplyRows(key, query, accumulation); // A2
}

Value MultiTokenCode::emitScores(const Tile &tile) {
  return loopRows(tile, emptyStrip(tile),
                  [&](Value head, Value r, Value scores) {
                    Value dots = emitDots(tile, head, r);
                    RowPosition position = getPosition(tile, head, r);
                    return loop(0, numKeys, scores, [&](Value j, Value scores) {
                      Value dot = load(dots, j);
                      return store(emitScore(position, j, dot, scale), scores,
                                   {head, r, j});
                    });
                  });
}

MultiTokenCode::StagedStrip
MultiTokenCode::emitStages(Stages stages, Value strip, Value scores) {
  StageCode code(getLoc(), *this);
  Value convolved = strip;
  if (stages.kernel)
    convolved = hide(code.emitConvolution(stages, strip), scores, 0.0);
  Value result = convolved;
  if (stages.mixing)
    result = hide(code.emitMixing(stages, convolved), scores, 0.0);
  return {strip, convolved, result};
}

Value MultiTokenCode::hide(Value strip, Value scores, double value) {
  return map({strip, scores}, emptyLike(strip), [&](ValueRange e) -> Value {
    return select(isMinusInfinity(e[1]), real(value), e[0]);
  });
}

std::pair<Value, Value> MultiTokenCode::emitSoftmax(const Tile &tile,
                                                    Value weights) {
  Value lses = empty({numHeads, tile.rows}, accumulation);
  SmallVector<Value> results = loopHeadsAndRows(
      tile, {emptyStrip(tile), lses},
      [&](Value head, Value r, ValueRange results) -> SmallVector<Value> {
        auto weight = [&](Value j) { return load(weights, {head, r, j}); };
        Value sink;
        if (op.getSink())
          sink = toAccumulation(load(op.getSink(), head));
        Value largest =
            reduce<arith::MaximumFOp>(numKeys, minusInfinity(), weight);
        Value isEmpty = isMinusInfinity(largest); // T7
        Value maximum = emitMaximum(largest, sink);
        auto emitExp = [&](Value j) { return exp(subF(weight(j), maximum)); };
        Value sum = reduce<arith::AddFOp>(numKeys, emitSinkTerm(sink, maximum),
                                          emitExp);
        Value strip = loop(0, numKeys, results[0], [&](Value j, Value strip) {
          Value quotient = divF(emitExp(j), sum);
          return store(select(isEmpty, real(0.0), quotient), strip,
                       {head, r, j});
        });
        Value lse = emitLogSumExp(maximum, sum, isEmpty, sink);
        return {strip, store(lse, results[1], {head, r})};
      });
  return {results[0], results[1]};
}

Value MultiTokenCode::emitDropouts(const Tile &tile, Value strip) {
  if (!op.hasDropout())
    return strip;
  return loopRows(
      tile, emptyStrip(tile), [&](Value head, Value r, Value result) {
        RowPosition row = getPosition(tile, head, r);
        return loop(0, numKeys, result, [&](Value j, Value result) {
          Value number = emitDropout(row, j, load(strip, {head, r, j}));
          return store(number, result, {head, r, j});
        });
      });
}

SmallVector<Value> MultiTokenCode::loopHeadsAndRows(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  return loop(0, numHeads, initial, [&](Value head, ValueRange carried) {
    return loop(0, tile.rows, carried, [&](Value r, ValueRange carried) {
      return body(head, r, carried);
    });
  });
}

Value MultiTokenCode::loopRows(const Tile &tile, Value initial,
                               function_ref<Value(Value, Value, Value)> body) {
  return loopHeadsAndRows(tile, initial,
                          [&](Value head, Value r, ValueRange carried) {
                            return SmallVector<Value>{
                                body(head, r, carried[0])};
                          })
      .front();
}

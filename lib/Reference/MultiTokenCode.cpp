//===- MultiTokenCode.cpp - Strips of multi-token attention ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/MultiTokenCode.h"
#include "lib/Reference/StageCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of the output that are computed together.
static constexpr int64_t kTileRows = 16;

SmallVector<Value> MultiTokenCode::loopOverTiles(
    ValueRange initial,
    function_ref<SmallVector<Value>(const Tile &, ValueRange)> body) {
  zero = index(0);
  scale = emitScale();
  for (Value *operand :
       {&before.kernel, &before.mixing, &after.kernel, &after.mixing})
    if (*operand)
      *operand = convertElements(*operand, accumulation);
  numKeys = dim(op.getKey(), 2);
  Value numQueries = dim(op.getQuery(), 2);
  Value numRows = dim(op.getOutput(), 2);
  Value numTiles =
      arith::CeilDivUIOp::create(b, loc, numRows, index(kTileRows));
  Value numBatches = emitBatchSize(op.getQuery(), numRows, zero);
  return loop(zero, numBatches, initial, [&](Value n, ValueRange carried) {
    Tile tile;
    tile.batch = n;
    tile.position = op.createFirstPosition(b, n, numQueries, numKeys); // T1
    return loop(zero, numTiles, carried, [&](Value t, ValueRange carried) {
      tile.begin = multiply(t, kTileRows);
      tile.count = arith::MinUIOp::create(b, loc, subtract(numRows, tile.begin),
                                          index(kTileRows));
      Value past = subtract(numQueries, numRows); // T2
      Value first = add(past, tile.begin);
      // However many rows the kernels have, T4.
      tile.before = arith::MinUIOp::create(b, loc, first, index(op.getHalo()));
      tile.first = subtract(first, tile.before);
      tile.rows = add(tile.before, tile.count);
      return body(tile, carried);
    });
  });
}

Value MultiTokenCode::emitDots(const Tile &tile, Value head, Value r) {
  Value query = extractRow(op.getQuery(), tile.batch, head, add(tile.first, r));
  Value key =
      extractRows(op.getKey(), tile.batch, emitKeyHead(head), zero, numKeys);
  return linalg::MatvecOp::create(b, loc, ValueRange{key, query},
                                  fill(empty({numKeys}, accumulation), 0.0))
      .getResult(0); // A2
}

Value MultiTokenCode::emitScores(const Tile &tile) {
  return loopRows(
      tile, emptyStrip(tile), [&](Value head, Value r, Value scores) {
        Value dots = emitDots(tile, head, r);
        RowPosition position = getPosition(tile, head, r);
        return loop(zero, numKeys, scores, [&](Value j, Value scores) {
          Value dot = tensor::ExtractOp::create(b, loc, dots, j);
          return store(emitScore(position, j, dot, scale), scores, head, r, j);
        });
      });
}

MultiTokenCode::StagedStrip
MultiTokenCode::emitStages(Stages stages, Value strip, Value scores) {
  StageCode code(b, loc);
  Value convolved = strip;
  if (stages.kernel)
    convolved = hide(code.emitConvolution(stages, strip), scores, 0.0);
  Value result = convolved;
  if (stages.mixing)
    result = hide(code.emitMixing(stages, convolved), scores, 0.0);
  return {strip, convolved, result};
}

Value MultiTokenCode::hide(Value strip, Value scores, double value) {
  return map({strip, scores}, emptyLike(strip, accumulation),
             [&](ValueRange e) -> Value {
               return arith::SelectOp::create(b, loc, isMinusInfinity(e[1]),
                                              real(accumulation, value), e[0]);
             });
}

std::pair<Value, Value> MultiTokenCode::emitSoftmax(const Tile &tile,
                                                    Value weights) {
  Value lses = empty({numHeads, tile.rows}, accumulation);
  SmallVector<Value> results = loopHeadsAndRows(
      tile, {emptyStrip(tile), lses},
      [&](Value head, Value r, ValueRange results) -> SmallVector<Value> {
        auto reduce = [&](Value initial,
                          function_ref<Value(Value, Value)> combine) {
          return loop(zero, numKeys, initial, [&](Value j, Value carried) {
            return combine(carried, load(weights, head, r, j));
          });
        };
        Value largest = reduce(minusInfinity(), [&](Value a, Value x) {
          return arith::MaximumFOp::create(b, loc, a, x);
        });
        Value isEmpty = isMinusInfinity(largest); // T7
        Value maximum = largest, sink;
        if (op.getSink()) { // A6
          sink = convert(tensor::ExtractOp::create(b, loc, op.getSink(), head),
                         accumulation);
          maximum = arith::MaximumFOp::create(b, loc, largest, sink);
        }
        Value nothing = real(accumulation, 0.0);
        maximum = arith::SelectOp::create(b, loc, isMinusInfinity(maximum),
                                          nothing, maximum);
        auto exp = [&](Value x) -> Value {
          return math::ExpOp::create(b, loc,
                                     arith::SubFOp::create(b, loc, x, maximum));
        };
        // A16: the difference of equal infinities would be NaN.
        Value initial = nothing;
        if (sink)
          initial = arith::SelectOp::create(b, loc, isEqual(sink, maximum),
                                            real(accumulation, 1.0), exp(sink));
        Value sum = reduce(initial, [&](Value a, Value x) {
          return arith::AddFOp::create(b, loc, a, exp(x));
        });
        Value strip =
            loop(zero, numKeys, results[0], [&](Value j, Value strip) {
              Value quotient = arith::DivFOp::create(
                  b, loc, exp(load(weights, head, r, j)), sum);
              Value p =
                  arith::SelectOp::create(b, loc, isEmpty, nothing, quotient);
              return store(p, strip, head, r, j);
            });
        Value lse = arith::AddFOp::create(b, loc, maximum,
                                          math::LogOp::create(b, loc, sum));
        lse = arith::SelectOp::create(
            b, loc, isEqual(maximum, real(accumulation, kInfinity)), maximum,
            lse); // A16
        lse = arith::SelectOp::create(b, loc, isEmpty,
                                      sink ? sink : minusInfinity(), lse);
        return {strip, tensor::InsertOp::create(b, loc, lse, results[1],
                                                ValueRange{head, r})};
      });
  return {results[0], results[1]};
}

Value MultiTokenCode::emitDropouts(const Tile &tile, Value strip) {
  if (!op.hasDropout())
    return strip;
  return loopRows(
      tile, emptyStrip(tile), [&](Value head, Value r, Value result) {
        RowPosition row = getPosition(tile, head, r);
        return loop(zero, numKeys, result, [&](Value j, Value result) {
          Value number = emitDropout(row, j, load(strip, head, r, j));
          return store(number, result, head, r, j);
        });
      });
}

SmallVector<Value> MultiTokenCode::loopHeadsAndRows(
    const Tile &tile, ValueRange initial,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  return loop(
      zero, index(numHeads), initial, [&](Value head, ValueRange carried) {
        return loop(zero, tile.rows, carried, [&](Value r, ValueRange carried) {
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

//===- MultiTokenLowering.cpp - attn.multi_token_attention to loops -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The reference lowering, as the op's documentation writes it, on a strip
// (Hq, rows, Skv) of scores: a few rows of the output, and before them the rows
// that their convolutions see. Memory is linear in the key length so.
//
//   for every batch entry n
//     for every tile of output rows
//       scores     = mask ? score(scale * dot(query, key)) : -inf
//       weights    = hide(stages before(hide(scores, 0)), -inf)
//       weights    = softmax of each row of weights
//       weights    = stages after(weights)
//       output     = sum of dropout(weights) * value
//
// where every stage hides what it gives at positions whose score is -inf.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/PositionCode.h"
#include "lib/Reference/StageCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Rows of the output that are computed together.
constexpr int64_t kTileRows = 16;

/// A tile of output rows with the rows before it, and its strip's sizes.
struct Tile {
  Value batch;
  Value first;    ///< Row of the query that strip row 0 is.
  Value rows;     ///< Rows of the strip.
  Value before;   ///< Those before the rows of the output.
  Value begin;    ///< First row of the output.
  Value count;    ///< Rows of the output.
  Value position; ///< Position of row 0 of the query.
};

/// Emits the lowering of one op.
class MultiTokenLowering : PositionCode<MultiTokenAttentionOp> {
public:
  MultiTokenLowering(MultiTokenAttentionOp op, OpBuilder &builder)
      : PositionCode(builder, op), op(op), before(op.getStagesBefore()),
        after(op.getStagesAfter()), accumulation(op.getAccumulationType()),
        numHeads(op.getNumQueryHeads()) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
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
    return loop(zero, numBatches, op.getOuts(), [&](Value n, ValueRange outs) {
      Tile tile;
      tile.batch = n;
      tile.position = op.createFirstPosition(b, n, numQueries, numKeys); // T1
      return loop(zero, numTiles, outs, [&](Value t, ValueRange outs) {
        tile.begin = multiply(t, kTileRows);
        tile.count = arith::MinUIOp::create(
            b, loc, subtract(numRows, tile.begin), index(kTileRows));
        Value past = subtract(numQueries, numRows); // T2
        Value first = add(past, tile.begin);
        // However many rows the kernels have, T4.
        tile.before =
            arith::MinUIOp::create(b, loc, first, index(op.getHalo()));
        tile.first = subtract(first, tile.before);
        tile.rows = add(tile.before, tile.count);
        return emitTile(tile, outs);
      });
    });
  }

private:
  using Stages = MultiTokenAttentionOp::Stages;

  /// Returns the results with the rows of a tile written.
  SmallVector<Value> emitTile(const Tile &tile, ValueRange outs) {
    Value scores = emitScores(tile);
    Value weights = emitStages(before, hide(scores, scores, 0.0), scores);
    weights = hide(weights, scores, -kInfinity); // T5
    auto [probabilities, logSumExp] = emitSoftmax(tile, weights);
    weights = emitStages(after, probabilities, scores);
    if (op.hasDropout())
      weights = mapRows(tile, weights,
                        [&](const RowPosition &row, Value j, Value weight) {
                          return emitDropout(row, j, weight);
                        });
    SmallVector<Value> results(outs);
    results[0] = emitOutput(tile, weights, scores, results[0]);
    if (op.getLogSumExp())
      results[1] = insert(
          extract(logSumExp, {{0, tile.before}, {numHeads, tile.count}}),
          results[1], {{tile.batch, 0, tile.begin}, {1, numHeads, tile.count}});
    return results;
  }

  /// The scores of a strip, -inf where hidden.
  Value emitScores(const Tile &tile) {
    return loopRows(
        tile, emptyStrip(tile), [&](Value head, Value r, Value scores) {
          Value row = add(tile.first, r);
          Value query = extractRow(op.getQuery(), tile.batch, head, row);
          Value key = extractRows(op.getKey(), tile.batch, emitKeyHead(head),
                                  zero, numKeys);
          Value dots = linalg::MatvecOp::create(
                           b, loc, ValueRange{key, query},
                           fill(empty({numKeys}, accumulation), 0.0))
                           .getResult(0); // A2
          RowPosition position{tile.batch, head, add(tile.position, row)};
          return loop(zero, numKeys, scores, [&](Value j, Value scores) {
            Value dot = tensor::ExtractOp::create(b, loc, dots, j);
            return store(emitScore(position, j, dot, scale), scores, head, r,
                         j);
          });
        });
  }

  /// What the stages make of a strip, 0 where hidden (T5).
  Value emitStages(Stages stages, Value strip, Value scores) {
    StageCode code(b, loc);
    if (stages.kernel)
      strip = hide(code.emitConvolution(stages, strip), scores, 0.0);
    if (stages.mixing)
      strip = hide(code.emitMixing(stages, strip), scores, 0.0);
    return strip;
  }

  /// `strip`, and `value` where the score is -inf.
  Value hide(Value strip, Value scores, double value) {
    return map({strip, scores}, emptyLike(strip, accumulation),
               [&](ValueRange e) -> Value {
                 return arith::SelectOp::create(b, loc, isMinusInfinity(e[1]),
                                                real(accumulation, value),
                                                e[0]);
               });
  }

  //===--------------------------------------------------------------------===//
  // Softmax and output
  //===--------------------------------------------------------------------===//

  /// Probabilities, and the log-sum-exp `(Hq, rows)` (T6).
  std::pair<Value, Value> emitSoftmax(const Tile &tile, Value weights) {
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
            sink =
                convert(tensor::ExtractOp::create(b, loc, op.getSink(), head),
                        accumulation);
            maximum = arith::MaximumFOp::create(b, loc, largest, sink);
          }
          Value nothing = real(accumulation, 0.0);
          maximum = arith::SelectOp::create(b, loc, isMinusInfinity(maximum),
                                            nothing, maximum);
          auto exp = [&](Value x) -> Value {
            return math::ExpOp::create(
                b, loc, arith::SubFOp::create(b, loc, x, maximum));
          };
          // A16: the difference of equal infinities would be NaN.
          Value initial = nothing;
          if (sink)
            initial =
                arith::SelectOp::create(b, loc, isEqual(sink, maximum),
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

  /// `output` with the rows of the tile written.
  Value emitOutput(const Tile &tile, Value weights, Value scores,
                   Value output) {
    int64_t size = op.getValueType().getDimSize(3);
    return loop(zero, index(numHeads), output, [&](Value head, Value output) {
      Box rows{{head, tile.before, 0}, {1, tile.count, numKeys}};
      Value value = extractRows(op.getValue(), tile.batch, emitKeyHead(head),
                                zero, numKeys);
      Value sums = emitProducts(tile, slice(weights, rows, 2),
                                slice(scores, rows, 2), value, size);
      return insert(
          convertElements(sums, op.getElementType()), output,
          {{tile.batch, head, tile.begin, 0}, {1, 1, tile.count, size}});
    });
  }

  /// Sums over the keys that are not hidden, whatever a value row of the others
  /// holds (T5).
  Value emitProducts(const Tile &tile, Value weights, Value scores, Value value,
                     int64_t size) {
    AffineExpr r, d, j;
    bindDims(b.getContext(), r, d, j);
    Value sums = fill(empty({tile.count, size}, accumulation), 0.0);
    return createGeneric(
        b, loc, {scores, weights, value}, sums,
        {{r, j}, {r, j}, {j, d}, {r, d}}, [&](ValueRange e) -> Value {
          Value product =
              arith::MulFOp::create(b, loc, e[1], convert(e[2], accumulation));
          Value sum = arith::AddFOp::create(b, loc, e[3], product);
          return arith::SelectOp::create(b, loc, isMinusInfinity(e[0]), e[3],
                                         sum);
        });
  }

  //===--------------------------------------------------------------------===//
  // Strips and rows
  //===--------------------------------------------------------------------===//

  Value emptyStrip(const Tile &tile) {
    return empty({numHeads, tile.rows, numKeys}, accumulation);
  }
  Value load(Value strip, Value head, Value r, Value j) {
    return tensor::ExtractOp::create(b, loc, strip, ValueRange{head, r, j});
  }
  Value store(Value number, Value strip, Value head, Value r, Value j) {
    return tensor::InsertOp::create(b, loc, number, strip,
                                    ValueRange{head, r, j});
  }

  SmallVector<Value> loopHeadsAndRows(
      const Tile &tile, ValueRange initial,
      function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
    return loop(zero, index(numHeads), initial,
                [&](Value head, ValueRange carried) {
                  return loop(zero, tile.rows, carried,
                              [&](Value r, ValueRange carried) {
                                return body(head, r, carried);
                              });
                });
  }
  Value loopRows(const Tile &tile, Value initial,
                 function_ref<Value(Value, Value, Value)> body) {
    return loopHeadsAndRows(tile, initial,
                            [&](Value head, Value r, ValueRange carried) {
                              return SmallVector<Value>{
                                  body(head, r, carried[0])};
                            })
        .front();
  }
  /// A new strip with `body(row, j, strip[head, r, j])`.
  Value mapRows(const Tile &tile, Value strip,
                function_ref<Value(const RowPosition &, Value, Value)> body) {
    return loopRows(
        tile, emptyStrip(tile), [&](Value head, Value r, Value result) {
          RowPosition row{tile.batch, head,
                          add(add(tile.position, tile.first), r)};
          return loop(zero, numKeys, result, [&](Value j, Value result) {
            Value number = body(row, j, load(strip, head, r, j));
            return store(number, result, head, r, j);
          });
        });
  }

  MultiTokenAttentionOp op;
  Stages before, after;
  FloatType accumulation;
  int64_t numHeads;
  Value zero, scale, numKeys;
};

} // namespace

void attn::populateMultiTokenLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerOp<MultiTokenAttentionOp, MultiTokenLowering>>(
      patterns.getContext());
}

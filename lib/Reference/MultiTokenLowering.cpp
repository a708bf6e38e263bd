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

#include "lib/Reference/MultiTokenLowering.h"
#include "dialect/AttnOps.h"
#include "lib/Reference/PositionCode.h"
#include "lib/Reference/StageCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

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
        *operand = emitConverted(*operand, accumulation);
    numKeys = dim(op.getKey(), 2);
    Value numQueries = dim(op.getQuery(), 2);
    Value numRows = dim(op.getOutput(), 2);
    Value numTiles =
        arith::CeilDivUIOp::create(b, loc, numRows, index(kTileRows));
    // Without rows, the batch may have any size in no memory.
    Value isEmpty =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, numRows, zero);
    Value numBatches =
        arith::SelectOp::create(b, loc, isEmpty, zero, dim(op.getQuery(), 0));
    return loop(zero, numBatches, op.getOuts(), [&](Value n, ValueRange outs) {
      Tile tile;
      tile.batch = n;
      tile.position = op.createFirstPosition(b, n, numQueries, numKeys); // T1
      return loop(zero, numTiles, outs, [&](Value t, ValueRange outs) {
        tile.begin = arith::MulIOp::create(b, loc, t, index(kTileRows));
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
      results[1] =
          insert(extract(logSumExp, {{b.getIndexAttr(0), tile.before},
                                     {b.getIndexAttr(numHeads), tile.count}}),
                 results[1],
                 {{tile.batch, b.getIndexAttr(0), tile.begin},
                  {b.getIndexAttr(1), b.getIndexAttr(numHeads), tile.count}});
    return results;
  }

  /// The scores of a strip, -inf where hidden.
  Value emitScores(const Tile &tile) {
    return loopRows(
        tile, emptyStrip(tile), [&](Value head, Value r, Value scores) {
          Value row = add(tile.first, r);
          Value query =
              extractRows(op.getQuery(), tile.batch, head, row, nullptr);
          Value key = extractRows(op.getKey(), tile.batch, emitKeyHead(head),
                                  zero, numKeys);
          Value dots = linalg::MatvecOp::create(
                           b, loc, ValueRange{key, query},
                           fill(empty({numKeys}, accumulation), 0.0))
                           .getResult(0); // A2
          RowPosition position{tile.batch, head, add(tile.position, row)};
          return loop(zero, numKeys, scores,
                      [&](Value j, ValueRange scores) {
                        Value dot = tensor::ExtractOp::create(b, loc, dots, j);
                        Value score = emitScore(position, j, dot, scale);
                        return SmallVector<Value>{tensor::InsertOp::create(
                            b, loc, score, scores[0], ValueRange{head, r, j})};
                      })
              .front();
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
    return map({strip, scores}, emptyLike(strip), [&](ValueRange elements) {
      return arith::SelectOp::create(b, loc,
                                     isEqual(elements[1], minusInfinity()),
                                     real(accumulation, value), elements[0])
          .getResult();
    });
  }

  //===--------------------------------------------------------------------===//
  // Softmax and output
  //===--------------------------------------------------------------------===//

  /// Probabilities, and the log-sum-exp `(Hq, rows)` (T6).
  std::pair<Value, Value> emitSoftmax(const Tile &tile, Value weights) {
    Value lses = empty({b.getIndexAttr(numHeads), tile.rows}, accumulation);
    SmallVector<Value> results = loopHeadsAndRows(
        tile, {emptyStrip(tile), lses},
        [&](Value head, Value r, ValueRange results) -> SmallVector<Value> {
          auto reduce = [&](Value initial, auto combine) {
            return loop(zero, numKeys, initial,
                        [&](Value j, ValueRange carried) -> SmallVector<Value> {
                          return {
                              combine(carried[0], load(weights, head, r, j))};
                        })
                .front();
          };
          Value largest = reduce(minusInfinity(), [&](Value a, Value x) {
            return arith::MaximumFOp::create(b, loc, a, x).getResult();
          });
          Value isEmpty = isEqual(largest, minusInfinity()); // T7
          Value maximum = largest, sink;
          if (op.getSink()) { // A6
            sink =
                convert(tensor::ExtractOp::create(b, loc, op.getSink(), head),
                        accumulation);
            maximum = arith::MaximumFOp::create(b, loc, largest, sink);
          }
          Value nothing = real(accumulation, 0.0);
          maximum = arith::SelectOp::create(
              b, loc, isEqual(maximum, minusInfinity()), nothing, maximum);
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
            return arith::AddFOp::create(b, loc, a, exp(x)).getResult();
          });
          Value strip =
              loop(zero, numKeys, results[0],
                   [&](Value j, ValueRange strip) -> SmallVector<Value> {
                     Value quotient = arith::DivFOp::create(
                         b, loc, exp(load(weights, head, r, j)), sum);
                     Value p = arith::SelectOp::create(b, loc, isEmpty, nothing,
                                                       quotient);
                     return {tensor::InsertOp::create(b, loc, p, strip[0],
                                                      ValueRange{head, r, j})};
                   })
                  .front();
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
    return loop(zero, index(numHeads), output,
                [&](Value head, ValueRange output) -> SmallVector<Value> {
                  Box rows{{head, tile.before, b.getIndexAttr(0)},
                           {b.getIndexAttr(1), tile.count, numKeys}};
                  Value value = extractRows(op.getValue(), tile.batch,
                                            emitKeyHead(head), zero, numKeys);
                  Value sums =
                      emitProducts(tile, extractMatrix(weights, rows),
                                   extractMatrix(scores, rows), value, size);
                  Value rounded = emitConverted(sums, op.getElementType());
                  Box target{{tile.batch, head, tile.begin, b.getIndexAttr(0)},
                             {b.getIndexAttr(1), b.getIndexAttr(1), tile.count,
                              b.getIndexAttr(size)}};
                  return {insert(rounded, output[0], target)};
                })
        .front();
  }

  /// Sums over the keys that are not hidden, whatever a value row of the others
  /// holds (T5).
  Value emitProducts(const Tile &tile, Value weights, Value scores, Value value,
                     int64_t size) {
    AffineExpr r, d, j;
    bindDims(b.getContext(), r, d, j);
    SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
        {ArrayRef<AffineExpr>{r, j}, {r, j}, {j, d}, {r, d}}, b.getContext());
    Value sums =
        fill(empty({tile.count, b.getIndexAttr(size)}, accumulation), 0.0);
    return linalg::GenericOp::create(
               b, loc, sums.getType(), ValueRange{scores, weights, value}, sums,
               maps,
               {utils::IteratorType::parallel, utils::IteratorType::parallel,
                utils::IteratorType::reduction},
               [&](OpBuilder &, Location, ValueRange args) {
                 Value product = arith::MulFOp::create(
                     b, loc, args[1], convert(args[2], accumulation));
                 Value sum = arith::AddFOp::create(b, loc, args[3], product);
                 linalg::YieldOp::create(
                     b, loc,
                     arith::SelectOp::create(b, loc,
                                             isEqual(args[0], minusInfinity()),
                                             args[3], sum)
                         .getResult());
               })
        .getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Strips and rows
  //===--------------------------------------------------------------------===//

  Value emptyStrip(const Tile &tile) {
    return empty({b.getIndexAttr(numHeads), tile.rows, numKeys}, accumulation);
  }
  Value emptyLike(Value tensor) {
    return empty(tensor::getMixedSizes(b, loc, tensor), accumulation);
  }
  Value load(Value strip, Value head, Value r, Value j) {
    return tensor::ExtractOp::create(b, loc, strip, ValueRange{head, r, j});
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
          return loop(zero, numKeys, result,
                      [&](Value j, ValueRange result) -> SmallVector<Value> {
                        return {tensor::InsertOp::create(
                            b, loc, body(row, j, load(strip, head, r, j)),
                            result[0], ValueRange{head, r, j})};
                      })
              .front();
        });
  }

  Value emitKeyHead(Value head) { // A3
    return arith::DivUIOp::create(b, loc, head, index(op.getGroupSize()));
  }

  /// A row of a (B, H, S, D) tensor, or `count` rows.
  Value extractRows(Value source, Value batch, Value head, Value row,
                    Value count) {
    auto type = cast<RankedTensorType>(source.getType());
    int64_t size = type.getDimSize(3);
    SmallVector<OpFoldResult> offsets = {batch, head, row, b.getIndexAttr(0)},
                              sizes(4, b.getIndexAttr(1)),
                              strides(4, b.getIndexAttr(1));
    sizes[3] = b.getIndexAttr(size);
    SmallVector<int64_t> shape = {size};
    if (count) {
      sizes[2] = count;
      shape.insert(shape.begin(), ShapedType::kDynamic);
    }
    return tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), source,
        offsets, sizes, strides);
  }
  /// The rows of one head of a strip.
  Value extractMatrix(Value strip, const Box &box) {
    SmallVector<OpFoldResult> strides(3, b.getIndexAttr(1));
    auto type = RankedTensorType::get(
        {ShapedType::kDynamic, ShapedType::kDynamic}, accumulation);
    return tensor::ExtractSliceOp::create(b, loc, type, strip, box.offsets,
                                          box.sizes, strides);
  }

  /// A tensor with elements of another type.
  Value emitConverted(Value tensor, FloatType type) {
    if (cast<ShapedType>(tensor.getType()).getElementType() == type)
      return tensor;
    return map(tensor, empty(tensor::getMixedSizes(b, loc, tensor), type),
               [&](ValueRange elements) { return convert(elements[0], type); });
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  MultiTokenAttentionOp op;
  Stages before, after;
  FloatType accumulation;
  int64_t numHeads;
  Value zero, scale, numKeys;
};

struct LowerMultiTokenAttention : OpRewritePattern<MultiTokenAttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MultiTokenAttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    rewriter.replaceOp(op, MultiTokenLowering(op, rewriter).emit());
    return success();
  }
};

} // namespace

void attn::populateMultiTokenLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerMultiTokenAttention>(patterns.getContext());
}

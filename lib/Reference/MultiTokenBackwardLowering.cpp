//===- MultiTokenBackwardLowering.cpp - Its gradients, to loops -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The reference lowering of attn.multi_token_attention_backward. What a tile of
// rows of the output gives to the gradients is linear in the gradients of these
// rows, so that each tile computes its strip again, goes back through it, and
// adds to the gradients of all that it has read:
//
//   for every batch entry
//     for every tile of output rows
//       scores, probabilities, weights   = as in MultiTokenLowering.cpp
//       gradient                         = dropout(output gradient * value^T)
//       gradient                         = transposed stages after(gradient)
//       gradient                         = softmax of each row, differentiated
//       gradient                         = transposed stages before(gradient)
//       gradients of queries and keys   += products with it
//
// Rows before those of the tile have a gradient by what these read of them.
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Lowerings.h"
#include "lib/Reference/MultiTokenCode.h"
#include "lib/Reference/ScoreGradient.h"
#include "lib/Reference/StageCode.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op, of which `attention` is differentiated.
class MultiTokenBackwardLowering : MultiTokenCode {
public:
  MultiTokenBackwardLowering(MultiTokenAttentionBackwardOp op,
                             MultiTokenAttentionOp attention,
                             ScoreGradient &ofScores, OpBuilder &builder)
      : MultiTokenCode(attention, builder), gradients(op), ofScores(ofScores) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    SmallVector<Value> sums;
    for (Value out : gradients.getOuts())
      sums.push_back(emitSums(out, accumulation));
    prepare();
    StageCode code(getLoc(), *this);
    transposedBefore = code.transpose(before);
    transposedAfter = code.transpose(after);
    sums = loopOverTiles(sums, [&](const Tile &tile, ValueRange sums) {
      return emitTile(tile, sums);
    });
    return convertAll(sums, gradients.getOuts());
  }

private:
  /// The sums with what the rows of a tile add to them.
  SmallVector<Value> emitTile(const Tile &tile, ValueRange carried) {
    SmallVector<Value> sums(carried);
    Value scores = emitScores(tile);
    StagedStrip ofScore = emitStages(before, hide(scores, scores, 0.0), scores);
    auto [probabilities, logSumExp] =
        emitSoftmax(tile, hide(ofScore.result, scores, -kInfinity));
    StagedStrip ofWeight = emitStages(after, probabilities, scores);
    Value weights = emitDropouts(tile, ofWeight.result);

    sums[2] = addToValues(tile, weights, scores, sums[2]);
    Value gradient = emitOfWeights(tile, scores);
    unsigned numBefore =
        (before.kernel != nullptr) + (before.mixing != nullptr);
    gradient = emitOfStages(after, transposedAfter, ofWeight, gradient, scores,
                            MutableArrayRef(sums).drop_front(3 + numBefore));
    Value delta = emitDelta(tile, probabilities, gradient);
    if (gradients.getOfSink()) {
      Value &sum = sums[gradients.getSinkNumber()];
      sum = addToSink(tile, logSumExp, delta, sum);
    }
    gradient = hide(emitOfSoftmax(probabilities, gradient, delta), scores, 0.0);
    gradient = emitOfStages(before, transposedBefore, ofScore, gradient, scores,
                            MutableArrayRef(sums).drop_front(3));
    if (op.hasScore())
      gradient = emitOfProducts(tile, gradient, scores, sums);
    sums[0] = addToQueries(tile, gradient, scores, sums[0]);
    sums[1] = addToKeys(tile, gradient, scores, sums[1]);
    return sums;
  }

  //===--------------------------------------------------------------------===//
  // From the output to the products
  //===--------------------------------------------------------------------===//

  /// The gradient of the weights of a strip, 0 in the rows before the tile's.
  Value emitOfWeights(const Tile &tile, Value scores) {
    AffineExpr r, j, d;
    bindDims(getContext(), r, j, d);
    Value strip = fill(emptyStrip(tile), 0.0);
    strip = loop(0, numHeads, strip, [&](Value head, Value strip) {
      Value rows = extractOutputRows(tile, head);
      Value value = extractKeys(op.getValue(), tile, head);
      Value products = fill(empty({tile.count, numKeys}, accumulation), 0.0);
      products = generic(
          {rows, value}, products, {{r, d}, {j, d}, {r, j}},
          [&](ValueRange e) -> Value {
            return addF(e[2], mulF(toAccumulation(e[0]), toAccumulation(e[1])));
          });
      return insert(products, strip, getOutputRows(tile, head));
    });
    return hide(emitDropouts(tile, strip), scores, 0.0);
  }

  /// What a gradient is before the stages of one side, to whose gradients it
  /// adds, which `sums` begins with.
  Value emitOfStages(Stages stages, Stages transposed, const StagedStrip &strip,
                     Value gradient, Value scores,
                     MutableArrayRef<Value> sums) {
    StageCode code(getLoc(), *this);
    if (stages.mixing) {
      Value &sum = sums[stages.kernel ? 1 : 0];
      sum = code.addToMixing(stages, strip.convolved, gradient, sum);
      gradient = hide(code.emitMixing(transposed, gradient), scores, 0.0);
    }
    if (stages.kernel) {
      sums[0] = code.addToKernel(stages, strip.read, gradient, sums[0]);
      gradient = hide(code.emitTransposedConvolution(transposed, gradient),
                      scores, 0.0);
    }
    return gradient;
  }

  /// `D` of each row, `(Hq, rows)`.
  Value emitDelta(const Tile &tile, Value probabilities, Value gradient) {
    AffineExpr h, r, j;
    bindDims(getContext(), h, r, j);
    Value sums = fill(empty({numHeads, tile.rows}, accumulation), 0.0);
    sums = multiplyAdd({{h, r, j}, {h, r, j}, {h, r}},
                       {probabilities, gradient}, sums);
    Value ofLogSumExp = gradients.getLogSumExpGradient();
    if (!ofLogSumExp)
      return sums;
    Box rows = {{0, tile.before}, {numHeads, tile.count}};
    Value own =
        extract(ofLogSumExp,
                {{tile.batch, 0, tile.begin}, {1, numHeads, tile.count}}, 2);
    Value part = map(own, extract(sums, rows),
                     [&](ValueRange e) -> Value { return subF(e[1], e[0]); });
    return insert(part, sums, rows);
  }

  /// `P * (P' - D)`.
  Value emitOfSoftmax(Value probabilities, Value gradient, Value delta) {
    return map({probabilities, gradient, delta}, emptyLike(gradient),
               [&](ValueRange e) { return mulF(e[0], subF(e[1], e[2])); });
  }

  /// The gradients of the products, times the scale, from those of scores,
  /// which are added to the sums of captures.
  Value emitOfProducts(const Tile &tile, Value ofScore, Value scores,
                       SmallVector<Value> &sums) {
    unsigned first = gradients.getFirstCaptureNumber();
    SmallVector<Value> carried = {emptyStrip(tile)};
    llvm::append_range(carried, llvm::drop_begin(sums, first));
    carried = loopHeadsAndRows(
        tile, carried, [&](Value head, Value r, ValueRange carried) {
          Value dots = emitDots(tile, head, r);
          RowPosition row = getPosition(tile, head, r);
          return loop(0, numKeys, carried, [&](Value j, ValueRange carried) {
            return emitOfProduct(row, {head, r, j}, dots, ofScore, scores,
                                 carried);
          });
        });
    std::copy(carried.begin() + 1, carried.end(), sums.begin() + first);
    return carried[0];
  }

  /// At one position, of which nothing is evaluated where it is hidden.
  SmallVector<Value> emitOfProduct(const RowPosition &row, ArrayRef<Value> at,
                                   Value dots, Value ofScore, Value scores,
                                   ValueRange carried) {
    Value isHidden = isMinusInfinity(load(scores, at));
    auto emitHidden = [&]() -> SmallVector<Value> {
      SmallVector<Value> results(carried);
      results[0] = store(real(0.0), results[0], at);
      return results;
    };
    auto emitVisible = [&]() -> SmallVector<Value> {
      SmallVector<Value> results(carried);
      SmallVector<Value> arguments =
          getScoreArguments(row, at[2], load(dots, at[2]), scale);
      Value gradient = load(ofScore, at);
      Value slope = ofScores.emitSlope(*this, arguments);
      results[0] = store(mulF(gradient, slope), results[0], at);
      ofScores.addToCaptures(*this, gradient, arguments,
                             MutableArrayRef(results).drop_front());
      return results;
    };
    return choose(isHidden, emitHidden, emitVisible);
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  /// Adds the products of a strip's rows with the output's gradient to that of
  /// the values.
  Value addToValues(const Tile &tile, Value weights, Value scores, Value sums) {
    AffineExpr r, j, d;
    bindDims(getContext(), r, j, d);
    return loop(0, numHeads, sums, [&](Value head, Value sums) {
      Box rows = getOutputRows(tile, head);
      Value part = addVisible(
          extract(scores, rows, 2), extract(weights, rows, 2),
          extractOutputRows(tile, head), Value(), extractKeys(sums, tile, head),
          {{r, j}, {r, j}, {r, d}, {j, d}});
      return insert(part, sums, getKeys(sums, tile, head));
    });
  }

  Value addToKeys(const Tile &tile, Value gradient, Value scores, Value sums) {
    AffineExpr r, j, d;
    bindDims(getContext(), r, j, d);
    return loop(0, numHeads, sums, [&](Value head, Value sums) {
      Value part = addVisible(
          extractHead(scores, tile, head), extractHead(gradient, tile, head),
          extractRows(op.getQuery(), tile.batch, head, tile.first, tile.rows),
          scale, extractKeys(sums, tile, head),
          {{r, j}, {r, j}, {r, d}, {j, d}});
      return insert(part, sums, getKeys(sums, tile, head));
    });
  }

  Value addToQueries(const Tile &tile, Value gradient, Value scores,
                     Value sums) {
    AffineExpr r, j, d;
    bindDims(getContext(), r, j, d);
    int64_t size = op.getQueryType().getDimSize(3);
    return loop(0, numHeads, sums, [&](Value head, Value sums) {
      Box rows = {{tile.batch, head, tile.first, 0}, {1, 1, tile.rows, size}};
      Value part = addVisible(
          extractHead(scores, tile, head), extractHead(gradient, tile, head),
          extractKeys(op.getKey(), tile, head), scale, extract(sums, rows, 2),
          {{r, j}, {r, j}, {j, d}, {r, d}});
      return insert(part, sums, rows);
    });
  }

  Value addToSink(const Tile &tile, Value logSumExp, Value delta, Value sums) {
    return loopHeadsAndRows(
               tile, sums,
               [&](Value head, Value r, ValueRange sums) -> SmallVector<Value> {
                 Value sink = toAccumulation(load(op.getSink(), head));
                 Value at[] = {head, r};
                 Value lse = load(logSumExp, at);
                 Value weight = exp(subF(sink, lse));
                 // Of two infinities, the difference would be NaN.
                 weight = select(isMinusInfinity(sink), real(0.0), weight);
                 Value product = mulF(weight, load(delta, at));
                 Value sum = subF(load(sums[0], head), product);
                 return {store(sum, sums[0], head)};
               })
        .front();
  }

  //===--------------------------------------------------------------------===//
  // Rows and numbers
  //===--------------------------------------------------------------------===//

  Value extractHead(Value strip, const Tile &tile, Value head) {
    return extract(strip, {{head, 0, 0}, {1, tile.rows, numKeys}}, 2);
  }
  /// Where the rows of the output are in a strip.
  Box getOutputRows(const Tile &tile, Value head) {
    return {{head, tile.before, 0}, {1, tile.count, numKeys}};
  }
  Value extractOutputRows(const Tile &tile, Value head) {
    return extractRows(gradients.getOutputGradient(), tile.batch, head,
                       tile.begin, tile.count);
  }
  Box getKeys(Value tensor, const Tile &tile, Value head) {
    return {{tile.batch, emitKeyHead(head), 0, 0},
            {1, 1, numKeys, size(tensor, 3)}};
  }
  Value extractKeys(Value tensor, const Tile &tile, Value head) {
    return extract(tensor, getKeys(tensor, tile, head), 2);
  }

  MultiTokenAttentionBackwardOp gradients;
  ScoreGradient &ofScores;
  Stages transposedBefore, transposedAfter;
};

struct LowerMultiTokenBackward
    : OpRewritePattern<MultiTokenAttentionBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MultiTokenAttentionBackwardOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    ScoreGradient ofScores(op.getScore());
    if (failed(ofScores.prepare(MultiTokenAttentionOp::kNumScoreArguments,
                                op.getOfCaptures())))
      return failure();
    // Only for what it says.
    MultiTokenAttentionOp attention = op.createAttention(rewriter);
    rewriter.replaceOp(
        op,
        MultiTokenBackwardLowering(op, attention, ofScores, rewriter).emit());
    rewriter.eraseOp(attention);
    return success();
  }
};

} // namespace

void attn::populateMultiTokenBackwardLowering(RewritePatternSet &patterns) {
  patterns.add<LowerMultiTokenBackward>(patterns.getContext());
}

//===- TangentLowering.cpp - Reference lowering of tangents ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// One query row after the other, as the op's documentation writes it.
//

#include "dialect/AttnOps.h"
#include "lib/Reference/DerivativeRows.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class TangentLowering : DerivativeRows<AttentionTangentOp> {
public:
  TangentLowering(AttentionTangentOp op, OpBuilder &builder)
      : DerivativeRows(op, builder) {}

  /// Finds the derivatives of the score; an error where there is none.
  LogicalResult prepare() { return slopes.prepare(op); }

  /// Returns the op's results.
  SmallVector<Value> emit() {
    SmallVector<Value> tangents;
    for (Value out : op.getOuts()) // J4: of rows that see nothing.
      tangents.push_back(fill(out, 0.0));
    return emitRows(tangents, [&](const DerivativeRow &row, ValueRange before) {
      return emitRow(row, before);
    });
  }

private:
  SmallVector<Value> emitRow(const DerivativeRow &row, ValueRange before) {
    SmallVector<Value> tangents(before);
    Value query = extractRow(op.getQuery(), row),
          key = extractKeys(op.getKey(), row),
          value = extractKeys(op.getValue(), row);
    Value dots = multiply(key, query);
    Value scores = emitScores(row, dots);
    SmallVector<Value> moved; // Of the products, before the scale.
    if (Value tangent = op.getQueryTangent())
      moved.push_back(multiply(key, extractRow(tangent, row)));
    if (Value tangent = op.getKeyTangent())
      moved.push_back(multiply(extractKeys(tangent, row), query));

    // Weights of the values and of their tangents, and `mu`.
    OpFoldResult length = getAsOpFoldResult(row.sequence.keyLength);
    SmallVector<Value> carried = {zeros(length), zeros(length),
                                  emitOfSink(row)};
    carried = emitVisible(
        row, scores, carried, [&](Value j, Value score, ValueRange carried) {
          Value dot = tensor::ExtractOp::create(b, loc, dots, j);
          Value ofScore = emitOfScore(row, j, dot, moved);
          Value weight = math::ExpOp::create(b, loc, sub(score, row.logSumExp));
          Value kept = op.hasDropout()
                           ? code.emitDropout(row.position, j, weight)
                           : weight; // A8
          auto store = [&](Value number, Value into) -> Value {
            return tensor::InsertOp::create(b, loc, number, into, j);
          };
          return SmallVector<Value>{store(mul(kept, ofScore), carried[0]),
                                    store(kept, carried[1]),
                                    addF(carried[2], mul(weight, ofScore))};
        });

    Value sums =
        addVisibleRows(scores, carried[0], value, emitSumsOfRows(value));
    if (Value tangent = op.getValueTangent())
      sums =
          addVisibleRows(scores, carried[1], extractKeys(tangent, row), sums);
    Value mu = carried[2];
    Value output = extractRow(op.getOutput(), row);
    Value init = tensor::EmptyOp::create(
        b, loc, cast<RankedTensorType>(output.getType()).getShape(),
        op.getElementType());
    Value tangent = map({sums, output}, init, [&](ValueRange elements) {
      Value shift = mul(mu, toAccumulation(elements[1]));
      return convert(sub(elements[0], shift), op.getElementType());
    });
    tangents[0] = insertRow(tangent, tangents[0], row);
    if (op.getLogSumExpTangent())
      tangents[1] = tensor::InsertOp::create(b, loc, mu, tangents[1], row.at);
    return tangents;
  }

  /// `dS`.
  Value emitOfScore(const DerivativeRow &row, Value j, Value dot,
                    ArrayRef<Value> moved) {
    Value sum;
    for (Value products : moved) {
      Value product = tensor::ExtractOp::create(b, loc, products, j);
      sum = sum ? addF(sum, product) : product;
    }
    if (sum)
      sum = mul(sum, scale);
    if (op.hasScore()) {
      SmallVector<Value> arguments = getScoreArguments(row, j, dot);
      if (sum)
        sum = mul(sum, evaluate(slopes.ofProduct, arguments));
      if (!op.getCaptureTangents().empty()) {
        llvm::append_range(arguments, op.getCaptureTangents());
        Value part = evaluate(slopes.ofCaptures, arguments);
        sum = sum ? addF(sum, part) : part;
      }
    }
    return sum ? sum : real(accumulation, 0.0);
  }

  /// What the sink adds to `mu`.
  Value emitOfSink(const DerivativeRow &row) {
    if (!op.getSinkTangent())
      return real(accumulation, 0.0);
    Value tangent = toAccumulation(tensor::ExtractOp::create(
        b, loc, op.getSinkTangent(), placeOfSink(row)));
    return mul(emitSinkWeight(row), tangent);
  }

  ScoreSlopes slopes;
};

struct LowerTangent : OpRewritePattern<AttentionTangentOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionTangentOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    TangentLowering lowering(op, rewriter);
    if (failed(lowering.prepare()))
      return failure();
    rewriter.replaceOp(op, lowering.emit());
    return success();
  }
};

} // namespace

void attn::populateTangentLowering(RewritePatternSet &patterns) {
  patterns.add<LowerTangent>(patterns.getContext());
}

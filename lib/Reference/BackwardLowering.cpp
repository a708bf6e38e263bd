//===- BackwardLowering.cpp - Reference lowering of gradients -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// One query row after the other, of which each adds to the gradients of all
// keys and values that it sees.
//

#include "dialect/AttnOps.h"
#include "lib/Reference/DerivativeRows.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/ScoreGradient.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class BackwardLowering : DerivativeRows<AttentionBackwardOp> {
public:
  BackwardLowering(AttentionBackwardOp op, OpBuilder &builder)
      : DerivativeRows(op, builder),
        ofScores(builder, op.getLoc(), op.getScore()) {}

  /// Finds the derivatives of the score; an error where there is none.
  LogicalResult prepare() {
    return ofScores.prepare(AttentionBackwardOp::kNumScoreArguments,
                            op.getOfCaptures());
  }

  /// Returns the op's results.
  SmallVector<Value> emit() {
    // Sums in their own type; but for those of queries, each of one row.
    SmallVector<Value> sums;
    for (auto [number, out] : llvm::enumerate(op.getOuts()))
      sums.push_back(number == 0 ? fill(out, 0.0)
                                 : emitSums(out, accumulation));
    sums = emitRows(sums, [&](const DerivativeRow &row, ValueRange sums) {
      return emitRow(row, sums);
    });
    return convertAll(sums, op.getOuts());
  }

private:
  /// The sums with what one row adds to them.
  SmallVector<Value> emitRow(const DerivativeRow &row, ValueRange before) {
    SmallVector<Value> sums(before);
    Value query = extractRow(op.getQuery(), row),
          output = extractRow(op.getOutput(), row),
          gradient = extractRow(op.getOutputGradient(), row),
          key = extractKeys(op.getKey(), row),
          value = extractKeys(op.getValue(), row);
    Value dots = multiply(key, query);
    Value products = multiply(value, gradient); // dP, before the dropout.
    Value scores = emitScores(row, dots);
    Value delta = emitDelta(output, gradient, row.at);

    // dT and the weights of the values.
    OpFoldResult length = getAsOpFoldResult(row.sequence.keyLength);
    SmallVector<Value> carried = {zeros(length), zeros(length)};
    llvm::append_range(carried, llvm::drop_begin(sums, 3));
    carried = emitVisible(
        row, scores, carried, [&](Value j, Value score, ValueRange carried) {
          Value dot = tensor::ExtractOp::create(b, loc, dots, j);
          Value product = tensor::ExtractOp::create(b, loc, products, j);
          return emitPosition(row, j, score, dot, product, delta, carried);
        });

    sums[0] =
        insertRow(emitQueryGradient(scores, carried[0], key), sums[0], row);
    sums[1] = addOuterProduct(scores, carried[0], query, scale, sums[1], row);
    sums[2] =
        addOuterProduct(scores, carried[1], gradient, Value(), sums[2], row);
    std::copy(carried.begin() + 2, carried.end(), sums.begin() + 3);
    if (op.getOfSink())
      sums[3] = addToSink(row, delta, sums[3]);
    return sums;
  }

  /// What one position gives: dT and the weight, stored, and what it adds to
  /// gradients of captures.
  SmallVector<Value> emitPosition(const DerivativeRow &row, Value j,
                                  Value score, Value dot, Value product,
                                  Value delta, ValueRange before) {
    SmallVector<Value> carried(before);
    Value weight = math::ExpOp::create(b, loc, sub(score, row.logSumExp));
    Value kept = weight;
    if (op.hasDropout()) { // A8
      kept = code.emitDropout(row.position, j, weight);
      product = code.emitDropout(row.position, j, product);
    }
    Value ofScore = mul(weight, sub(product, delta)); // dS
    Value ofProduct = ofScore;
    SmallVector<Value> arguments;
    if (op.hasScore()) {
      arguments = getScoreArguments(row, j, dot);
      ofProduct = mul(ofScore, ofScores.emitSlope(arguments));
    }
    carried[0] =
        tensor::InsertOp::create(b, loc, ofProduct, carried[0], j).getResult();
    carried[1] =
        tensor::InsertOp::create(b, loc, kept, carried[1], j).getResult();
    ofScores.addToCaptures(
        ofScore, arguments,
        MutableArrayRef(carried).drop_front(op.getOfSink() ? 3 : 2));
    return carried;
  }

  /// `D`.
  Value emitDelta(Value output, Value gradient, ValueRange at) {
    auto body = [&](Value d, ValueRange sum) -> SmallVector<Value> {
      Value x = toAccumulation(tensor::ExtractOp::create(b, loc, output, d));
      Value y = toAccumulation(tensor::ExtractOp::create(b, loc, gradient, d));
      return {arith::AddFOp::create(b, loc, sum[0], mul(x, y))};
    };
    Value sum =
        loop(index(0), dim(output, 0), real(accumulation, 0.0), body).front();
    if (!op.getLogSumExpGradient())
      return sum;
    return sub(
        sum, tensor::ExtractOp::create(b, loc, op.getLogSumExpGradient(), at));
  }

  /// `scale * sum over j of weights[j] * rows[j, :]` of the visible rows.
  Value emitQueryGradient(Value scores, Value weights, Value rows) {
    Value sums = addVisibleRows(scores, weights, rows, emitSumsOfRows(rows));
    Value out = tensor::EmptyOp::create(
        b, loc, cast<RankedTensorType>(sums.getType()).getShape(),
        op.getElementType());
    return map(sums, out, [&](ValueRange elements) {
      return convert(mul(elements[0], scale), op.getElementType());
    });
  }

  /// `sums[j, :] += factor * weights[j] * vector` of the visible rows of a
  /// sequence.
  Value addOuterProduct(Value scores, Value weights, Value vector, Value factor,
                        Value sums, const DerivativeRow &row) {
    AffineExpr j, d;
    bindDims(b.getContext(), j, d);
    Value rows = extractKeys(sums, row);
    rows = addVisible(
        scores, weights, vector, rows, {d}, {j, d}, factor,
        {utils::IteratorType::parallel, utils::IteratorType::parallel});
    return insert(rows, sums, boxOfKeys(sums, row));
  }

  Value addToSink(const DerivativeRow &row, Value delta, Value sums) {
    SmallVector<Value> at = placeOfSink(row);
    Value sum = tensor::ExtractOp::create(b, loc, sums, at);
    return tensor::InsertOp::create(
        b, loc, sub(sum, mul(emitSinkWeight(row), delta)), sums, at);
  }

  ScoreGradient ofScores;
};

struct LowerBackward : OpRewritePattern<AttentionBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionBackwardOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    BackwardLowering lowering(op, rewriter);
    if (failed(lowering.prepare()))
      return failure();
    rewriter.replaceOp(op, lowering.emit());
    return success();
  }
};

} // namespace

void attn::populateBackwardLowering(RewritePatternSet &patterns) {
  patterns.add<LowerBackward>(patterns.getContext());
}

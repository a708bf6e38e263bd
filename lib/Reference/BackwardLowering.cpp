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
#include "lib/Reference/AttentionRows.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/ScoreGradient.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class BackwardLowering : AttentionRows<AttentionBackwardOp> {
public:
  BackwardLowering(AttentionBackwardOp op, OpBuilder &builder)
      : AttentionRows(op, builder), ofScores(op.getScore()) {}

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
    sums = emitSeeingRows(sums, [&](const AttentionRow &row, ValueRange sums) {
      return emitRow(row, sums);
    });
    return convertAll(sums, op.getOuts());
  }

private:
  /// The sums with what one row adds to them.
  SmallVector<Value> emitRow(const AttentionRow &row, ValueRange before) {
    SmallVector<Value> sums(before);
    Value query = extractRow(op.getQuery(), row),
          output = extractRow(op.getOutput(), row),
          gradient = extractRow(op.getOutputGradient(), row),
          key = extractKeys(op.getKey(), row),
          value = extractKeys(op.getValue(), row);
    Value dots = multiplyRows(key, query, accumulation);
    Value products =
        multiplyRows(value, gradient, accumulation); // dP, before the dropout.
    Value scores = emitScores(row, dots);
    Value delta = emitDelta(output, gradient, row.at);

    // dT and the weights of the values.
    OpFoldResult length = row.sequence.keyLength;
    SmallVector<Value> carried = {zeros(length), zeros(length)};
    llvm::append_range(carried, llvm::drop_begin(sums, 3));
    carried = emitVisible(
        row, scores, carried, [&](Value j, Value score, ValueRange carried) {
          Value dot = load(dots, j);
          Value product = load(products, j);
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
  SmallVector<Value> emitPosition(const AttentionRow &row, Value j, Value score,
                                  Value dot, Value product, Value delta,
                                  ValueRange before) {
    SmallVector<Value> carried(before);
    Value weight = exp(subF(score, row.logSumExp));
    Value kept = weight;
    if (op.hasDropout()) { // A8
      kept = code().emitDropout(row.position, j, weight);
      product = code().emitDropout(row.position, j, product);
    }
    Value ofScore = mulF(weight, subF(product, delta)); // dS
    Value ofProduct = ofScore;
    SmallVector<Value> arguments;
    if (op.hasScore()) {
      arguments = code().getScoreArguments(row.position, j, dot, scale);
      ofProduct = mulF(ofScore, ofScores.emitSlope(*this, arguments));
    }
    carried[0] = store(ofProduct, carried[0], j);
    carried[1] = store(kept, carried[1], j);
    ofScores.addToCaptures(
        *this, ofScore, arguments,
        MutableArrayRef(carried).drop_front(op.getOfSink() ? 3 : 2));
    return carried;
  }

  /// `D`.
  Value emitDelta(Value output, Value gradient, ValueRange at) {
    auto body = [&](Value d, Value sum) {
      Value x = toAccumulation(load(output, d));
      Value y = toAccumulation(load(gradient, d));
      return addF(sum, mulF(x, y));
    };
    Value sum = loop(0, size(output, 0), real(0.0), body);
    if (!op.getLogSumExpGradient())
      return sum;
    return subF(sum, load(op.getLogSumExpGradient(), at));
  }

  /// `scale * sum over j of weights[j] * rows[j, :]` of the visible rows.
  Value emitQueryGradient(Value scores, Value weights, Value rows) {
    Value sums = addVisibleRows(scores, weights, rows, zeros(size(rows, 1)));
    return map(sums, emptyLike(sums, op.getElementType()),
               [&](ValueRange elements) {
                 return convert(mulF(elements[0], scale), op.getElementType());
               });
  }

  /// `sums[j, :] += factor * weights[j] * vector` of the visible rows of a
  /// sequence.
  Value addOuterProduct(Value scores, Value weights, Value vector, Value factor,
                        Value sums, const AttentionRow &row) {
    AffineExpr j, d;
    bindDims(getContext(), j, d);
    Value rows = extractKeys(sums, row);
    rows = addVisible(scores, weights, vector, factor, rows,
                      {{j}, {j}, {d}, {j, d}});
    return insert(rows, sums, boxOfKeys(sums, row));
  }

  Value addToSink(const AttentionRow &row, Value delta, Value sums) {
    SmallVector<Value> at = placeOfSink(row);
    Value sum = load(sums, at);
    return store(subF(sum, mulF(emitSinkWeight(row), delta)), sums, at);
  }

  ScoreGradient ofScores;
};

} // namespace

void attn::populateBackwardLowering(RewritePatternSet &patterns) {
  patterns.add<LowerOp<AttentionBackwardOp, BackwardLowering>>(
      patterns.getContext());
}

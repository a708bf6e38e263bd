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
#include "lib/Reference/AttentionRows.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Regions/RegionDerivative.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class TangentLowering : AttentionRows<AttentionTangentOp> {
public:
  TangentLowering(AttentionTangentOp op, OpBuilder &builder)
      : AttentionRows(op, builder) {}

  /// Finds the derivatives of the score; an error where there is none.
  LogicalResult prepare() { return slopes.prepare(op); }

  /// Returns the op's results.
  SmallVector<Value> emit() {
    SmallVector<Value> tangents;
    for (Value out : op.getOuts()) // J4: of rows that see nothing.
      tangents.push_back(fill(out, 0.0));
    return emitSeeingRows(tangents,
                          [&](const AttentionRow &row, ValueRange before) {
                            return emitRow(row, before);
                          });
  }

private:
  SmallVector<Value> emitRow(const AttentionRow &row, ValueRange before) {
    SmallVector<Value> tangents(before);
    Value query = extractRow(op.getQuery(), row),
          key = extractKeys(op.getKey(), row),
          value = extractKeys(op.getValue(), row);
    Value dots = multiplyRows(key, query, accumulation);
    Value scores = emitScores(row, dots);
    SmallVector<Value> moved; // Of the products, before the scale.
    if (Value tangent = op.getQueryTangent())
      moved.push_back(
          multiplyRows(key, extractRow(tangent, row), accumulation));
    if (Value tangent = op.getKeyTangent())
      moved.push_back(
          multiplyRows(extractKeys(tangent, row), query, accumulation));

    // Weights of the values and of their tangents, and `mu`.
    OpFoldResult length = row.sequence.keyLength;
    SmallVector<Value> carried = {zeros(length), zeros(length),
                                  emitOfSink(row)};
    carried = emitVisible(
        row, scores, carried, [&](Value j, Value score, ValueRange carried) {
          Value dot = load(dots, j);
          Value ofScore = emitOfScore(row, j, dot, moved);
          Value weight = exp(subF(score, row.logSumExp));
          Value kept = op.hasDropout()
                           ? code().emitDropout(row.position, j, weight)
                           : weight; // A8
          return SmallVector<Value>{store(mulF(kept, ofScore), carried[0], j),
                                    store(kept, carried[1], j),
                                    addF(carried[2], mulF(weight, ofScore))};
        });

    Value sums =
        addVisibleRows(scores, carried[0], value, zeros(size(value, 1)));
    if (Value tangent = op.getValueTangent())
      sums =
          addVisibleRows(scores, carried[1], extractKeys(tangent, row), sums);
    Value mu = carried[2];
    Value output = extractRow(op.getOutput(), row);
    Value init = emptyLike(output);
    Value tangent = map({sums, output}, init, [&](ValueRange elements) {
      Value shift = mulF(mu, toAccumulation(elements[1]));
      return convert(subF(elements[0], shift), op.getElementType());
    });
    tangents[0] = insertRow(tangent, tangents[0], row);
    if (op.getLogSumExpTangent())
      tangents[1] = store(mu, tangents[1], row.at);
    return tangents;
  }

  /// `dS`.
  Value emitOfScore(const AttentionRow &row, Value j, Value dot,
                    ArrayRef<Value> moved) {
    Value sum;
    for (Value products : moved) {
      Value product = load(products, j);
      sum = sum ? addF(sum, product) : product;
    }
    if (sum)
      sum = mulF(sum, scale);
    if (op.hasScore()) {
      SmallVector<Value> arguments =
          code().getScoreArguments(row.position, j, dot, scale);
      if (sum)
        sum = mulF(sum, evaluate(slopes.ofProduct, arguments));
      if (!op.getCaptureTangents().empty()) {
        llvm::append_range(arguments, op.getCaptureTangents());
        Value part = evaluate(slopes.ofCaptures, arguments);
        sum = sum ? addF(sum, part) : part;
      }
    }
    return sum ? sum : real(0.0);
  }

  /// What the sink adds to `mu`.
  Value emitOfSink(const AttentionRow &row) {
    if (!op.getSinkTangent())
      return real(0.0);
    Value tangent = toAccumulation(load(op.getSinkTangent(), placeOfSink(row)));
    return mulF(emitSinkWeight(row), tangent);
  }

  ScoreSlopes slopes;
};

} // namespace

void attn::populateTangentLowering(RewritePatternSet &patterns) {
  patterns.add<LowerOp<AttentionTangentOp, TangentLowering>>(
      patterns.getContext());
}

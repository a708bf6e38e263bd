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
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/PositionCode.h"
#include "lib/Reference/ScoreGradient.h"
#include "lib/Reference/SequenceCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One row of the query.
struct GradientRow {
  Sequence sequence;
  Value head, keyHead; ///< Query head, `h`, and that of the keys it reads.
  Value index;         ///< Row of the query tensor.
  RowPosition position;
};

/// Emits the lowering of one op.
class BackwardLowering : TensorCode {
public:
  BackwardLowering(AttentionBackwardOp op, OpBuilder &builder)
      : TensorCode{builder, op.getLoc()}, op(op),
        accumulation(op.getAccumulationType()), code(builder, op),
        ofScores(builder, op.getLoc(), op.getScore()) {}

  /// Finds the derivatives of the score; an error where there is none.
  LogicalResult prepare() {
    return ofScores.prepare(AttentionBackwardOp::kNumScoreArguments,
                            op.getOfCaptures());
  }

  /// Returns the op's results.
  SmallVector<Value> emit() {
    scale = code.emitScale();
    // Sums in their own type; but for those of queries, each of one row.
    SmallVector<Value> sums;
    for (auto [number, out] : llvm::enumerate(op.getOuts()))
      sums.push_back(fill(number == 0 ? out : emitSumsOf(out), 0.0));
    SequenceCode<AttentionBackwardOp> sequences(b, op, index(0));
    sums = loop(index(0), sequences.emitCount(), sums,
                [&](Value n, ValueRange sums) {
                  Sequence sequence = sequences.emit(n);
                  return loop(index(0), index(op.getNumQueryHeads()), sums,
                              [&](Value head, ValueRange sums) {
                                return emitHead(sequence, head, sums);
                              });
                });
    SmallVector<Value> results;
    for (auto [sum, out] : llvm::zip(sums, op.getOuts()))
      results.push_back(convertElements(
          sum,
          cast<FloatType>(cast<ShapedType>(out.getType()).getElementType())));
    return results;
  }

private:
  Value emitSumsOf(Value out) {
    if (cast<ShapedType>(out.getType()).getElementType() == accumulation)
      return out;
    return emptyLike(out, accumulation);
  }

  SmallVector<Value> emitHead(const Sequence &sequence, Value head,
                              ValueRange sums) {
    Value keyHead = arith::DivUIOp::create(b, loc, head,
                                           index(op.getGroupSize())); // A3
    return loop(
        index(0), sequence.queryLength, sums, [&](Value i, ValueRange sums) {
          GradientRow row{sequence,
                          head,
                          keyHead,
                          add(sequence.queryBegin, i),
                          {sequence.number, head, add(sequence.offset, i)}};
          return emitUnlessEmpty(row, sums);
        });
  }

  /// G4: a row that sees nothing adds nothing.
  SmallVector<Value> emitUnlessEmpty(const GradientRow &row, ValueRange sums) {
    SmallVector<Value> at = {row.sequence.queryBatch, row.head, row.index};
    Value logSumExp = tensor::ExtractOp::create(b, loc, op.getLogSumExp(), at);
    Value isEmpty = isEqual(logSumExp, code.minusInfinity());
    auto ifOp = scf::IfOp::create(
        b, loc, isEmpty,
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, sums); },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(b, loc, emitRow(row, at, logSumExp, sums));
        });
    return ifOp.getResults();
  }

  /// The sums with what one row adds to them.
  SmallVector<Value> emitRow(const GradientRow &row, ValueRange at,
                             Value logSumExp, ValueRange before) {
    SmallVector<Value> sums(before);
    Value query = extractRow(op.getQuery(), row),
          output = extractRow(op.getOutput(), row),
          gradient = extractRow(op.getOutputGradient(), row),
          key = extractKeys(op.getKey(), row),
          value = extractKeys(op.getValue(), row);
    Value dots = multiply(key, query);
    Value products = multiply(value, gradient); // dP, before the dropout.
    Value scores = emitScores(row, dots);
    Value delta = emitDelta(output, gradient, at);

    // dT and the weights of the values.
    OpFoldResult length = getAsOpFoldResult(row.sequence.keyLength);
    SmallVector<Value> carried = {fill(empty(length, accumulation), 0.0),
                                  fill(empty(length, accumulation), 0.0)};
    llvm::append_range(carried, llvm::drop_begin(sums, 3));
    auto position = [&](Value j, ValueRange carried) -> SmallVector<Value> {
      Value score = tensor::ExtractOp::create(b, loc, scores, j);
      Value isHidden = isEqual(score, code.minusInfinity());
      auto ifOp = scf::IfOp::create(
          b, loc, isHidden,
          [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, carried); },
          [&](OpBuilder &, Location) {
            Value dot = tensor::ExtractOp::create(b, loc, dots, j);
            Value product = tensor::ExtractOp::create(b, loc, products, j);
            scf::YieldOp::create(b, loc,
                                 emitPosition(row, j, score, dot, product,
                                              logSumExp, delta, carried));
          });
      return ifOp.getResults();
    };
    carried = loop(index(0), row.sequence.keyLength, carried, position);

    sums[0] =
        insertRow(emitQueryGradient(scores, carried[0], key), sums[0], row);
    sums[1] = addOuterProduct(scores, carried[0], query, scale, sums[1], row);
    sums[2] =
        addOuterProduct(scores, carried[1], gradient, Value(), sums[2], row);
    std::copy(carried.begin() + 2, carried.end(), sums.begin() + 3);
    if (op.getOfSink())
      sums[3] = addToSink(row, logSumExp, delta, sums[3]);
    return sums;
  }

  /// What one position gives: dT and the weight, stored, and what it adds to
  /// gradients of captures.
  SmallVector<Value> emitPosition(const GradientRow &row, Value j, Value score,
                                  Value dot, Value product, Value logSumExp,
                                  Value delta, ValueRange before) {
    SmallVector<Value> carried(before);
    Value weight = math::ExpOp::create(b, loc, sub(score, logSumExp));
    Value kept = weight;
    if (op.hasDropout()) { // A8
      kept = code.emitDropout(row.position, j, weight);
      product = code.emitDropout(row.position, j, product);
    }
    Value ofScore = mul(weight, sub(product, delta)); // dS
    Value ofProduct = ofScore;
    SmallVector<Value> arguments;
    if (op.hasScore()) {
      arguments = {mul(dot, scale), row.position.number, row.position.head,
                   row.position.position, j};
      llvm::append_range(arguments, op.getScoreCaptures());
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

  /// Scores of a row after score and mask, -inf where not kept.
  Value emitScores(const GradientRow &row, Value dots) {
    auto body = [&](Value j, ValueRange scores) -> SmallVector<Value> {
      Value dot = tensor::ExtractOp::create(b, loc, dots, j);
      Value score = code.emitScore(row.position, j, dot, scale);
      return {tensor::InsertOp::create(b, loc, score, scores[0], j)};
    };
    Value scores =
        empty(getAsOpFoldResult(row.sequence.keyLength), accumulation);
    return loop(index(0), row.sequence.keyLength, scores, body).front();
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
    AffineExpr j, d;
    bindDims(b.getContext(), j, d);
    Value sums =
        fill(empty(tensor::getMixedSize(b, loc, rows, 1), accumulation), 0.0);
    sums = addVisible(
        scores, weights, rows, sums, {j, d}, {d}, Value(),
        {utils::IteratorType::reduction, utils::IteratorType::parallel});
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
                        Value sums, const GradientRow &row) {
    AffineExpr j, d;
    bindDims(b.getContext(), j, d);
    Value rows = extractKeys(sums, row);
    rows = addVisible(
        scores, weights, vector, rows, {d}, {j, d}, factor,
        {utils::IteratorType::parallel, utils::IteratorType::parallel});
    return insert(rows, sums, boxOfKeys(sums, row));
  }

  /// `sums += factor * weights[j] * operand` where score `j` is not -inf.
  Value addVisible(Value scores, Value weights, Value operand, Value sums,
                   ArrayRef<AffineExpr> ofOperand, ArrayRef<AffineExpr> ofSums,
                   Value factor, ArrayRef<utils::IteratorType> loops) {
    MLIRContext *context = b.getContext();
    AffineMap column = AffineMap::get(2, 0, getAffineDimExpr(0, context));
    SmallVector<AffineMap> maps = {column, column,
                                   AffineMap::get(2, 0, ofOperand, context),
                                   AffineMap::get(2, 0, ofSums, context)};
    return linalg::GenericOp::create(
               b, loc, sums.getType(), ValueRange{scores, weights, operand},
               sums, maps, loops,
               [&](OpBuilder &, Location, ValueRange args) {
                 Value product = mul(args[1], toAccumulation(args[2]));
                 if (factor)
                   product = mul(product, factor);
                 Value next = arith::AddFOp::create(b, loc, args[3], product);
                 Value isHidden = isEqual(args[0], code.minusInfinity());
                 linalg::YieldOp::create(
                     b, loc,
                     arith::SelectOp::create(b, loc, isHidden, args[3], next)
                         .getResult());
               })
        .getResult(0);
  }

  Value addToSink(const GradientRow &row, Value logSumExp, Value delta,
                  Value sums) {
    SmallVector<Value> at = {row.head};
    if (cast<RankedTensorType>(op.getSink().getType()).getRank() == 2)
      at.push_back(row.index);
    Value sink =
        toAccumulation(tensor::ExtractOp::create(b, loc, op.getSink(), at));
    Value weight = math::ExpOp::create(b, loc, sub(sink, logSumExp));
    Value sum = tensor::ExtractOp::create(b, loc, sums, at);
    return tensor::InsertOp::create(b, loc, sub(sum, mul(weight, delta)), sums,
                                    at);
  }

  //===--------------------------------------------------------------------===//
  // Rows and numbers
  //===--------------------------------------------------------------------===//

  /// `matrix * vector` in the type of sums.
  Value multiply(Value matrix, Value vector) {
    Value sums =
        fill(empty(tensor::getMixedSize(b, loc, matrix, 0), accumulation), 0.0);
    return linalg::MatvecOp::create(b, loc, ValueRange{matrix, vector}, sums)
        .getResult(0);
  }

  Value extractRow(Value tensor, const GradientRow &row) {
    return slice(tensor, boxOfRow(tensor, row), 1);
  }
  Value insertRow(Value source, Value tensor, const GradientRow &row) {
    return insert(source, tensor, boxOfRow(tensor, row));
  }
  Value extractKeys(Value tensor, const GradientRow &row) {
    return slice(tensor, boxOfKeys(tensor, row), 2);
  }
  Box boxOfRow(Value tensor, const GradientRow &row) {
    return {{row.sequence.queryBatch, row.head, row.index, 0},
            {1, 1, 1, tensor::getMixedSize(b, loc, tensor, 3)}};
  }
  Box boxOfKeys(Value tensor, const GradientRow &row) {
    return {{row.sequence.keyBatch, row.keyHead, row.sequence.keyBegin, 0},
            {1, 1, row.sequence.keyLength,
             tensor::getMixedSize(b, loc, tensor, 3)}};
  }

  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value toAccumulation(Value value) { return convert(value, accumulation); }

  AttentionBackwardOp op;
  FloatType accumulation;
  PositionCode<AttentionBackwardOp> code;
  ScoreGradient ofScores;
  Value scale;
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

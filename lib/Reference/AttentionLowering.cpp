//===- AttentionLowering.cpp - The reference lowering of attn.attention ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// attn.attention on tensors to loops over its rows, as the op's documentation
// writes it: one pass for the scores, one for their maximum, one for the
// weights, one for the output. Clear beats fast; the faster lowerings are held
// to this one.
//
//   for every sequence n (of a packed batch; else every batch entry)
//     for every query head h
//       for every query row i of the sequence
//         scores[j]  = mask ? score(scale * dot(query, key[j])) : -inf
//         maximum    = max(scores, sink)
//         weights[j] = exp(scores[j] - maximum)
//         sum        = sum of weights and sink
//         output     = sum of dropout(weights[j]) * value[j] / sum
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/AttentionLowering.h"

#include "dialect/AttnOps.h"
#include "lib/Reference/PositionCode.h"
#include "lib/Reference/SequenceCode.h"
#include "lib/Reference/TensorCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One row of the output.
struct Row {
  Sequence sequence;
  Value head;     ///< Query head, `h`.
  Value index;    ///< Row of the query tensor.
  Value position; ///< `p`.
};

/// Emits the lowering of one op.
class AttentionLowering : TensorCode {
public:
  AttentionLowering(AttentionOp op, OpBuilder &builder)
      : TensorCode{builder, op.getLoc()}, op(op),
        accumulation(op.getAccumulationType()), code(builder, op) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    zero = index(0);
    one = index(1);
    scale = code.emitScale();
    SmallVector<Value> results(op.getOuts());
    if (op.isRagged()) { // A7: rows outside of every sequence.
      results[0] = fill(results[0], 0.0);
      if (op.getLogSumExp())
        results[1] = fill(results[1], -kInfinity);
    }
    SequenceCode<AttentionOp> sequences(b, op);
    return loop(
        sequences.emitCount(), results, [&](Value n, ValueRange results) {
          Sequence sequence = sequences.emit(n);
          Value heads = index(op.getNumQueryHeads());
          return loop(heads, results, [&](Value head, ValueRange results) {
            return loop(sequence.queryLength, results,
                        [&](Value i, ValueRange results) {
                          Row row{sequence, head, add(sequence.queryBegin, i),
                                  add(sequence.offset, i)}; // A5
                          return emitRow(row, results);
                        });
          });
        });
  }

private:
  /// Returns the results with one row written.
  SmallVector<Value> emitRow(const Row &row, ValueRange results) {
    const Sequence &sequence = row.sequence;
    Value keyHead = arith::DivUIOp::create(b, loc, row.head,
                                           index(op.getGroupSize())); // A3
    Value query =
        slice(op.getQuery(), sequence.queryBatch, row.head, row.index);
    Value key = slice(op.getKey(), sequence.keyBatch, keyHead,
                      sequence.keyBegin, sequence.keyLength);
    Value value = slice(op.getValue(), sequence.keyBatch, keyHead,
                        sequence.keyBegin, sequence.keyLength);

    Value scores = emitScores(row, query, key);
    Value largest = reduce<arith::MaximumFOp>(scores, real(-kInfinity));
    Value isEmpty = isMinusInfinity(largest); // A14
    Value maximum = emitMaximum(row, largest);
    Value weights = emitWeights(scores, maximum);
    Value sum = emitSum(row, weights, maximum);
    if (op.hasDropout())
      weights = map(weights, [&](Value j, Value weight) { // A8
        return code.emitDropout(getPosition(row), j, weight);
      });
    Value output = emitOutput(scores, weights, value, sum, isEmpty);

    SmallVector<Value> written(results);
    written[0] =
        insert(output, written[0], sequence.queryBatch, row.head, row.index);
    if (op.getLogSumExp()) {
      Value logSumExp = arith::AddFOp::create(b, loc, maximum,
                                              math::LogOp::create(b, loc, sum));
      // A16: also where the sum is inf - inf.
      logSumExp = arith::SelectOp::create(
          b, loc, isEqual(maximum, real(kInfinity)), maximum, logSumExp);
      Value ifEmpty = op.getSink() ? emitSink(row) : real(-kInfinity);
      logSumExp = arith::SelectOp::create(b, loc, isEmpty, ifEmpty, logSumExp);
      written[1] = tensor::InsertOp::create(
          b, loc, logSumExp, written[1],
          ValueRange{sequence.queryBatch, row.head, row.index});
    }
    return written;
  }

  /// Scores of a row after score and mask, -inf where not kept.
  Value emitScores(const Row &row, Value query, Value key) {
    Value length = row.sequence.keyLength;
    Value dots = linalg::MatvecOp::create(b, loc, ValueRange{key, query},
                                          fill(empty(length), 0.0))
                     .getResult(0); // A2
    auto body = [&](Value j, ValueRange scores) -> SmallVector<Value> {
      Value dot = tensor::ExtractOp::create(b, loc, scores[0], j);
      Value score = code.emitScore(getPosition(row), j, dot, scale);
      return {tensor::InsertOp::create(b, loc, score, scores[0], j)};
    };
    return loop(length, dots, body).front();
  }

  /// The maximum of scores and sink, or 0 if all are -inf, so that it can be
  /// subtracted from them.
  Value emitMaximum(const Row &row, Value largest) {
    Value maximum = largest;
    if (op.getSink()) // A6
      maximum = arith::MaximumFOp::create(b, loc, largest, emitSink(row));
    return arith::SelectOp::create(b, loc, isMinusInfinity(maximum), real(0.0),
                                   maximum);
  }

  Value emitWeights(Value scores, Value maximum) {
    return map(scores, [&](Value, Value score) -> Value {
      Value difference = arith::SubFOp::create(b, loc, score, maximum);
      return math::ExpOp::create(b, loc, difference);
    });
  }

  Value emitSum(const Row &row, Value weights, Value maximum) {
    Value initial = real(0.0);
    if (op.getSink()) { // A6
      Value sink = emitSink(row);
      initial = math::ExpOp::create(
          b, loc, arith::SubFOp::create(b, loc, sink, maximum));
      // A16: the difference of equal infinities would be NaN.
      initial = arith::SelectOp::create(b, loc, isEqual(sink, maximum),
                                        real(1.0), initial);
    }
    return reduce<arith::AddFOp>(weights, initial);
  }

  Value emitSink(const Row &row) {
    SmallVector<Value> at = {row.head};
    if (cast<RankedTensorType>(op.getSink().getType()).getRank() == 2)
      at.push_back(row.index);
    return toAccumulation(tensor::ExtractOp::create(b, loc, op.getSink(), at));
  }

  static RowPosition getPosition(const Row &row) {
    return {row.sequence.number, row.head, row.position};
  }

  /// `sum over j of weights[j] * value[j, :] / sum` in the output's type, 0 for
  /// an empty row (A14).
  Value emitOutput(Value scores, Value weights, Value value, Value sum,
                   Value isEmpty) {
    MLIRContext *context = b.getContext();
    AffineExpr d, j;
    bindDims(context, d, j);
    AffineMap column = AffineMap::get(2, 0, j, context);
    SmallVector<AffineMap> maps = {column, column,
                                   AffineMap::get(2, 0, {j, d}, context),
                                   AffineMap::get(2, 0, d, context)};
    Value headSize = index(op.getValueType().getDimSize(3));
    Value zeros = fill(empty(headSize), 0.0);
    auto accumulate = [&](OpBuilder &, Location, ValueRange args) {
      Value product =
          arith::MulFOp::create(b, loc, args[1], toAccumulation(args[2]));
      Value next = arith::AddFOp::create(b, loc, args[3], product);
      // A13: whatever the value row holds.
      Value chosen = arith::SelectOp::create(b, loc, isMinusInfinity(args[0]),
                                             args[3], next);
      linalg::YieldOp::create(b, loc, chosen);
    };
    Value weighted =
        linalg::GenericOp::create(
            b, loc, zeros.getType(), ValueRange{scores, weights, value}, zeros,
            maps,
            {utils::IteratorType::parallel, utils::IteratorType::reduction},
            accumulate)
            .getResult(0);

    AffineMap identity = AffineMap::get(1, 0, d, context);
    Value output = tensor::EmptyOp::create(
        b, loc, {op.getValueType().getDimSize(3)}, op.getElementType());
    auto divide = [&](OpBuilder &, Location, ValueRange args) {
      Value quotient = arith::DivFOp::create(b, loc, args[0], sum);
      Value chosen =
          arith::SelectOp::create(b, loc, isEmpty, real(0.0), quotient);
      if (accumulation != op.getElementType())
        chosen = arith::TruncFOp::create(b, loc, op.getElementType(), chosen);
      linalg::YieldOp::create(b, loc, chosen);
    };
    return linalg::GenericOp::create(b, loc, output.getType(), weighted, output,
                                     ArrayRef<AffineMap>{identity, identity},
                                     {utils::IteratorType::parallel}, divide)
        .getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Loops over tensors
  //===--------------------------------------------------------------------===//

  // Bodies are built through `b`, which is where the op's builder points.

  /// `for i in [0, count)` that carries `initial` along.
  SmallVector<Value>
  loop(Value count, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto forOp = scf::ForOp::create(
        b, loc, zero, count, one, initial,
        [&](OpBuilder &, Location, Value i, ValueRange carried) {
          scf::YieldOp::create(b, loc, body(i, carried));
        });
    return SmallVector<Value>(forOp.getResults());
  }

  /// A new tensor with `body(j, source[j])`.
  Value map(Value source, function_ref<Value(Value, Value)> body) {
    AffineMap identity = AffineMap::getMultiDimIdentityMap(1, b.getContext());
    Value destination = empty(dim(source, 0));
    auto generic = linalg::GenericOp::create(
        b, loc, destination.getType(), source, destination,
        ArrayRef<AffineMap>{identity, identity},
        {utils::IteratorType::parallel},
        [&](OpBuilder &, Location, ValueRange args) {
          Value j = linalg::IndexOp::create(b, loc, 0);
          linalg::YieldOp::create(b, loc, body(j, args[0]));
        });
    return generic.getResult(0);
  }

  /// All elements of a vector and `initial` combined, in their order (A15).
  template <typename Combine> Value reduce(Value source, Value initial) {
    auto body = [&](Value j, ValueRange carried) -> SmallVector<Value> {
      Value element = tensor::ExtractOp::create(b, loc, source, j);
      return {Combine::create(b, loc, carried[0], element)};
    };
    return loop(dim(source, 0), initial, body).front();
  }

  /// Row `row` of a (B, H, S, D) tensor, or `count` rows.
  Value slice(Value source, Value batch, Value head, Value row,
              Value count = nullptr) {
    auto type = cast<RankedTensorType>(source.getType());
    int64_t headSize = type.getDimSize(3);
    SmallVector<OpFoldResult> offsets = {batch, head, row, b.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes(4, b.getIndexAttr(1));
    SmallVector<OpFoldResult> strides(4, b.getIndexAttr(1));
    sizes[3] = b.getIndexAttr(headSize);
    SmallVector<int64_t> shape = {headSize};
    if (count) {
      sizes[2] = count;
      shape = {ShapedType::kDynamic, headSize};
    }
    return tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), source,
        offsets, sizes, strides);
  }

  /// `destination` with row `row` of a (B, H, S, D) tensor set to `source`.
  Value insert(Value source, Value destination, Value batch, Value head,
               Value row) {
    SmallVector<OpFoldResult> offsets = {batch, head, row, b.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes(4, b.getIndexAttr(1));
    SmallVector<OpFoldResult> strides(4, b.getIndexAttr(1));
    sizes[3] =
        b.getIndexAttr(cast<RankedTensorType>(source.getType()).getDimSize(0));
    return tensor::InsertSliceOp::create(b, loc, source, destination, offsets,
                                         sizes, strides);
  }

  /// A vector of accumulators.
  Value empty(Value length) {
    return TensorCode::empty(getAsOpFoldResult(length), accumulation);
  }

  //===--------------------------------------------------------------------===//
  // Scalars
  //===--------------------------------------------------------------------===//

  Value real(double value) { return TensorCode::real(accumulation, value); }
  Value toAccumulation(Value value) { return convert(value, accumulation); }
  Value isMinusInfinity(Value value) {
    return isEqual(value, real(-kInfinity));
  }

  AttentionOp op;
  FloatType accumulation;
  PositionCode<AttentionOp> code;
  Value zero, one, scale;
};

struct LowerAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    rewriter.replaceOp(op, AttentionLowering(op, rewriter).emit());
    return success();
  }
};

} // namespace

void attn::populateAttentionLowering(RewritePatternSet &patterns) {
  patterns.add<LowerAttention>(patterns.getContext());
}

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

#include "lib/Reference/Lowerings.h"

#include "dialect/AttnOps.h"
#include "lib/Reference/PositionCode.h"
#include "lib/Reference/SequenceCode.h"
#include "lib/Reference/TensorCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
class AttentionLowering : PositionCode<AttentionOp> {
public:
  AttentionLowering(AttentionOp op, OpBuilder &builder)
      : PositionCode(builder, op), op(op),
        accumulation(op.getAccumulationType()) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    zero = index(0);
    scale = emitScale();
    SmallVector<Value> results(op.getOuts());
    if (op.isRagged()) { // A7: rows outside of every sequence.
      results[0] = fill(results[0], 0.0);
      if (op.getLogSumExp())
        results[1] = fill(results[1], -kInfinity);
    }
    SequenceCode<AttentionOp> sequences(b, op, zero);
    auto emitSequenceRows = [&](Value n, ValueRange results) {
      Sequence sequence = sequences.emit(n);
      Value heads = index(op.getNumQueryHeads());
      return loop(zero, heads, results, [&](Value head, ValueRange results) {
        return loop(zero, sequence.queryLength, results,
                    [&](Value i, ValueRange results) {
                      Row row{sequence, head, add(sequence.queryBegin, i),
                              add(sequence.offset, i)}; // A5
                      return emitRow(row, results);
                    });
      });
    };
    return loop(zero, sequences.emitCount(), results, emitSequenceRows);
  }

private:
  /// Returns the results with one row written.
  SmallVector<Value> emitRow(const Row &row, ValueRange results) {
    const Sequence &sequence = row.sequence;
    Value keyHead = emitKeyHead(row.head);
    Value query =
        extractRow(op.getQuery(), sequence.queryBatch, row.head, row.index);
    Value key = extractRows(op.getKey(), sequence.keyBatch, keyHead,
                            sequence.keyBegin, sequence.keyLength);
    Value value = extractRows(op.getValue(), sequence.keyBatch, keyHead,
                              sequence.keyBegin, sequence.keyLength);

    Value scores = emitScores(row, query, key);
    Value largest = reduce<arith::MaximumFOp>(scores, real(-kInfinity));
    Value isEmpty = isMinusInfinity(largest); // A14
    Value maximum = emitMaximum(row, largest);
    Value weights = emitWeights(scores, maximum);
    Value sum = emitSum(row, weights, maximum);
    if (op.hasDropout())
      weights = map(weights, [&](Value j, Value weight) { // A8
        return emitDropout(getPosition(row), j, weight);
      });
    Value output = emitOutput(scores, weights, value, sum, isEmpty);

    SmallVector<Value> written(results);
    written[0] = insert(output, written[0],
                        {{sequence.queryBatch, row.head, row.index, 0},
                         {1, 1, 1, op.getValueType().getDimSize(3)}});
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
    return loop(zero, length, dots, [&](Value j, Value scores) -> Value {
      Value dot = tensor::ExtractOp::create(b, loc, scores, j);
      Value score = emitScore(getPosition(row), j, dot, scale);
      return tensor::InsertOp::create(b, loc, score, scores, j);
    });
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
    AffineExpr d, j;
    bindDims(b.getContext(), d, j);
    int64_t headSize = op.getValueType().getDimSize(3);
    auto accumulate = [&](ValueRange e) -> Value {
      Value product = arith::MulFOp::create(b, loc, e[1], toAccumulation(e[2]));
      Value next = arith::AddFOp::create(b, loc, e[3], product);
      // A13: whatever the value row holds.
      return arith::SelectOp::create(b, loc, isMinusInfinity(e[0]), e[3], next);
    };
    Value weighted = createGeneric(b, loc, {scores, weights, value},
                                   fill(empty(index(headSize)), 0.0),
                                   {{j}, {j}, {j, d}, {d}}, accumulate);
    Value output = TensorCode::empty({headSize}, op.getElementType());
    return TensorCode::map(weighted, output, [&](ValueRange e) {
      Value quotient = arith::DivFOp::create(b, loc, e[0], sum);
      Value chosen =
          arith::SelectOp::create(b, loc, isEmpty, real(0.0), quotient);
      return convert(chosen, op.getElementType());
    });
  }

  //===--------------------------------------------------------------------===//
  // Vectors and scalars
  //===--------------------------------------------------------------------===//

  /// A new tensor with `body(j, source[j])`.
  Value map(Value source, function_ref<Value(Value, Value)> body) {
    return TensorCode::map(source, empty(dim(source, 0)), [&](ValueRange e) {
      return body(linalg::IndexOp::create(b, loc, 0), e[0]);
    });
  }

  /// All elements of a vector and `initial` combined, in their order (A15).
  template <typename Combine> Value reduce(Value source, Value initial) {
    return loop(zero, dim(source, 0), initial,
                [&](Value j, Value all) -> Value {
                  Value element = tensor::ExtractOp::create(b, loc, source, j);
                  return Combine::create(b, loc, all, element);
                });
  }

  /// A vector of accumulators.
  Value empty(Value length) {
    return TensorCode::empty(getAsOpFoldResult(length), accumulation);
  }
  Value real(double value) { return TensorCode::real(accumulation, value); }
  Value toAccumulation(Value value) { return convert(value, accumulation); }

  AttentionOp op;
  FloatType accumulation;
  Value zero, scale;
};

} // namespace

void attn::populateAttentionLowering(RewritePatternSet &patterns) {
  patterns.add<LowerOp<AttentionOp, AttentionLowering>>(patterns.getContext());
}

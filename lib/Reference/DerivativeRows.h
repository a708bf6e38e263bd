//===- DerivativeRows.h - Rows of derivatives of attention ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_DERIVATIVEROWS_H
#define ATTN_REFERENCE_DERIVATIVEROWS_H

#include "lib/Reference/PositionCode.h"
#include "lib/Reference/SequenceCode.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {

/// One row of the query.
struct DerivativeRow {
  Sequence sequence;
  Value head, keyHead; ///< Query head, `h`, and that of the keys it reads.
  Value index;         ///< Row of the query tensor.
  RowPosition position;
  SmallVector<Value> at; ///< Where its log-sum-exp is.
  Value logSumExp;
};

/// What the reference lowerings of derivatives of attention have in common:
/// they go over one query row after the other, of which the log-sum-exp is
/// known.
template <typename Op> class DerivativeRows : protected TensorCode {
protected:
  using EmitRow = function_ref<SmallVector<Value>(const DerivativeRow &row,
                                                  ValueRange before)>;

  DerivativeRows(Op op, OpBuilder &builder)
      : TensorCode{builder, op.getLoc()}, op(op),
        accumulation(op.getAccumulationType()), code(builder, op) {}

  /// `initial` after all rows, but for those that see nothing (G4, J4).
  SmallVector<Value> emitRows(ValueRange initial, EmitRow emitRow) {
    scale = code.emitScale();
    SequenceCode<Op> sequences(b, op, index(0));
    return loop(index(0), sequences.emitCount(), initial,
                [&](Value n, ValueRange before) {
                  Sequence sequence = sequences.emit(n);
                  return loop(index(0), index(op.getNumQueryHeads()), before,
                              [&](Value head, ValueRange before) {
                                return emitHead(sequence, head, before,
                                                emitRow);
                              });
                });
  }

  /// Scores of a row after score and mask, -inf where not kept, from its
  /// products with keys.
  Value emitScores(const DerivativeRow &row, Value dots) {
    auto body = [&](Value j, ValueRange scores) -> SmallVector<Value> {
      Value dot = tensor::ExtractOp::create(b, loc, dots, j);
      Value score = code.emitScore(row.position, j, dot, scale);
      return {tensor::InsertOp::create(b, loc, score, scores[0], j)};
    };
    Value scores =
        empty(getAsOpFoldResult(row.sequence.keyLength), accumulation);
    return loop(index(0), row.sequence.keyLength, scores, body).front();
  }

  /// What `body` makes of `before`, for each key that the row sees: it gets the
  /// key's number, and the score.
  SmallVector<Value> emitVisible(
      const DerivativeRow &row, Value scores, ValueRange before,
      function_ref<SmallVector<Value>(Value j, Value score, ValueRange before)>
          body) {
    auto position = [&](Value j, ValueRange before) -> SmallVector<Value> {
      Value score = tensor::ExtractOp::create(b, loc, scores, j);
      Value isHidden = isEqual(score, code.minusInfinity());
      return emitUnless(isHidden, before,
                        [&] { return body(j, score, before); });
    };
    return loop(index(0), row.sequence.keyLength, before, position);
  }

  /// What the score region and its derivatives are evaluated with.
  SmallVector<Value> getScoreArguments(const DerivativeRow &row, Value j,
                                       Value dot) {
    SmallVector<Value> arguments = {mul(dot, scale), row.position.number,
                                    row.position.head, row.position.position,
                                    j};
    llvm::append_range(arguments, op.getScoreCaptures());
    return arguments;
  }
  /// A region that is defined where the score is, or is not needed there.
  Value evaluate(Region &region, ValueRange arguments) {
    return evaluateRegion(b, region, arguments).value;
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
  /// `sums + sum over j of weights[j] * rows[j, :]` of the visible rows.
  Value addVisibleRows(Value scores, Value weights, Value rows, Value sums) {
    AffineExpr j, d;
    bindDims(b.getContext(), j, d);
    return addVisible(
        scores, weights, rows, sums, {j, d}, {d}, Value(),
        {utils::IteratorType::reduction, utils::IteratorType::parallel});
  }
  /// As many sums of 0 as rows are long.
  Value emitSumsOfRows(Value rows) {
    return zeros(tensor::getMixedSize(b, loc, rows, 1));
  }

  /// `exp(sink - log-sum-exp)`, and where in the sink and its derivatives that
  /// is.
  Value emitSinkWeight(const DerivativeRow &row) {
    Value sink = toAccumulation(
        tensor::ExtractOp::create(b, loc, op.getSink(), placeOfSink(row)));
    return math::ExpOp::create(b, loc, sub(sink, row.logSumExp));
  }
  SmallVector<Value> placeOfSink(const DerivativeRow &row) {
    SmallVector<Value> at = {row.head};
    if (cast<RankedTensorType>(op.getSink().getType()).getRank() == 2)
      at.push_back(row.index);
    return at;
  }

  //===--------------------------------------------------------------------===//
  // Rows and numbers
  //===--------------------------------------------------------------------===//

  /// `matrix * vector` in the type of sums.
  Value multiply(Value matrix, Value vector) {
    Value sums = zeros(tensor::getMixedSize(b, loc, matrix, 0));
    return linalg::MatvecOp::create(b, loc, ValueRange{matrix, vector}, sums)
        .getResult(0);
  }

  Value extractRow(Value tensor, const DerivativeRow &row) {
    return slice(tensor, boxOfRow(tensor, row), 1);
  }
  Value insertRow(Value source, Value tensor, const DerivativeRow &row) {
    return insert(source, tensor, boxOfRow(tensor, row));
  }
  Value extractKeys(Value tensor, const DerivativeRow &row) {
    return slice(tensor, boxOfKeys(tensor, row), 2);
  }
  Box boxOfRow(Value tensor, const DerivativeRow &row) {
    return {{row.sequence.queryBatch, row.head, row.index, 0},
            {1, 1, 1, tensor::getMixedSize(b, loc, tensor, 3)}};
  }
  Box boxOfKeys(Value tensor, const DerivativeRow &row) {
    return {{row.sequence.keyBatch, row.keyHead, row.sequence.keyBegin, 0},
            {1, 1, row.sequence.keyLength,
             tensor::getMixedSize(b, loc, tensor, 3)}};
  }

  /// A vector of 0.
  Value zeros(OpFoldResult length) {
    return fill(empty(length, accumulation), 0.0);
  }
  Value addF(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value toAccumulation(Value value) { return convert(value, accumulation); }

  Op op;
  FloatType accumulation;
  PositionCode<Op> code;
  Value scale;

private:
  SmallVector<Value> emitHead(const Sequence &sequence, Value head,
                              ValueRange before, EmitRow emitRow) {
    Value keyHead = code.emitKeyHead(head); // A3
    return loop(
        index(0), sequence.queryLength, before,
        [&](Value i, ValueRange before) {
          DerivativeRow row;
          row.sequence = sequence;
          row.head = head;
          row.keyHead = keyHead;
          row.index = add(sequence.queryBegin, i);
          row.position = {sequence.number, head, add(sequence.offset, i)};
          row.at = {sequence.queryBatch, head, row.index};
          row.logSumExp =
              tensor::ExtractOp::create(b, loc, op.getLogSumExp(), row.at);
          Value isEmpty = isEqual(row.logSumExp, code.minusInfinity());
          return emitUnless(isEmpty, before,
                            [&] { return emitRow(row, before); });
        });
  }

  SmallVector<Value> emitUnless(Value condition, ValueRange before,
                                function_ref<SmallVector<Value>()> emit) {
    auto ifOp = scf::IfOp::create(
        b, loc, condition,
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, before); },
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, emit()); });
    return ifOp.getResults();
  }
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_DERIVATIVEROWS_H

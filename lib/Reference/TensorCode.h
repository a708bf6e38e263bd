//===- TensorCode.h - Loops and slices of tensors -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_TENSORCODE_H
#define ATTN_REFERENCE_TENSORCODE_H

#include "dialect/Shared/IndexBuilder.h"

#include <limits>

namespace mlir::attn {

/// A number of rows, say: a value or a constant.
using Number = IndexBuilder::Operand;
using Box = IndexBuilder::Box;

/// Emits what the reference lowerings of the ops are written in.
struct TensorCode : IndexBuilder {
  TensorCode(Location loc, OpBuilder &builder) : IndexBuilder(loc, builder) {}

  /// The least of numbers from 0 on.
  Value minU(Operand x, Operand y) { return emit<arith::MinUIOp>(x, y); }
  /// The size of a batch of so many rows: 0 without rows, since it may then be
  /// any size in no memory.
  Value emitBatchSize(Value tensor, Value numRows) {
    return select(isEqual(numRows, 0), 0, size(tensor, 0));
  }
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value isMinusInfinity(Value score) {
    return isEqualF(score, real(score.getType(), -kInfinity));
  }
  /// 0 for a score of -inf, which cannot be subtracted.
  Value finiteOrZero(Value score) {
    return select(isMinusInfinity(score), real(score.getType(), 0.0), score);
  }

  /// A tensor with elements of another type.
  Value convertElements(Value tensor, Type type, Value destination = {});
  /// Zeros to which what goes to `destination` is added in `type`: in its own
  /// place where that has such elements.
  Value emitSums(Value destination, FloatType type);
  /// Tensors with the elements that their destinations have.
  SmallVector<Value> convertAll(ValueRange tensors, ValueRange destinations);

  using IndexBuilder::loop;
  /// `for i in [begin, end)` that carries `initial` along.
  SmallVector<Value>
  loop(Operand begin, Operand end, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    return loop(begin, end, 1, initial, body);
  }
  Value loop(Operand begin, Operand end, Value initial,
             function_ref<Value(Value, Value)> body) {
    return loop(begin, end, 1, initial, body);
  }

  /// A new value for each element of `destination`, from those of the inputs:
  /// `body` gets the elements. Dimensions are those of the destination;
  /// an input has the first ones, or the last ones if `alignLast` says so.
  /// The body may ask for the old element too, which comes last.
  Value map(ValueRange inputs, Value destination, ElementBody body,
            ArrayRef<bool> alignLast = {});

  /// `result += x * y` of two inputs, at the indices of both and of the result.
  Value multiplyAdd(ArrayRef<ArrayRef<AffineExpr>> indices, ValueRange inputs,
                    Value result);
  // The softmax of a row of scores, and a sink if it is not null (A6).

  /// All elements, of which `element` gives one, and `initial` combined, in
  /// their order (A15).
  template <typename Combine>
  Value reduce(Number count, Value initial,
               function_ref<Value(Value)> element) {
    return loop(0, count, initial, [&](Value j, Value all) -> Value {
      return Combine::create(*this, all, element(j));
    });
  }
  /// The maximum of the scores, of which the largest is given, and the sink, or
  /// 0 if all are -inf, so that it can be subtracted from them.
  Value emitMaximum(Value largest, Value sink);
  /// exp(score - maximum), of the score of a row, a sink, or a log-sum-exp.
  Value emitWeight(Value score, Value maximum);
  /// What the sink adds to the sum of exp(score - maximum).
  Value emitSinkTerm(Value sink, Value maximum);
  /// `isEmpty` says that there is no score but -inf.
  Value emitLogSumExp(Value maximum, Value sum, Value isEmpty, Value sink);

  /// `result += factor * x * y` where the score is not -inf, whatever `y` holds
  /// elsewhere, at the indices of scores, both inputs, and the result. `factor`
  /// may be null, and `x` has the result's elements.
  Value addVisible(Value scores, Value x, Value y, Value factor, Value result,
                   ArrayRef<ArrayRef<AffineExpr>> indices);
  /// The products of the rows of a matrix with a vector, in elements of `type`.
  Value multiplyRows(Value matrix, Value vector, Type type);
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_TENSORCODE_H

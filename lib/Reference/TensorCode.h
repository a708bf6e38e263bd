//===- TensorCode.h - Loops and slices of tensors -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_TENSORCODE_H
#define ATTN_REFERENCE_TENSORCODE_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// A number of rows, say: a value or a constant.
using Number = IndexBuilder::Operand;

/// A box of a tensor: where it begins and how large it is, in each dimension.
struct Box {
  SmallVector<Number> offsets, sizes;
};

/// Emits what the reference lowerings of the ops are written in. Bodies are
/// built through `b`, which points into the innermost one.
struct TensorCode {
  OpBuilder &b;
  Location loc;

  Value index(int64_t value);
  Value real(FloatType type, double value);
  Value add(Value lhs, Number rhs);
  Value subtract(Value lhs, Number rhs);
  Value multiply(Value lhs, Number rhs);
  Value dim(Value tensor, int64_t dimension);
  /// The size of a batch of so many rows: 0 without rows, since it may then be
  /// any size in no memory.
  Value emitBatchSize(Value tensor, Value numRows, Value zero);
  /// An integer of any type as an index.
  Value toIndex(Value integer);
  /// An element of a tensor of integers, as an index.
  Value load(Value tensor, ValueRange indices);
  /// A float rounded or extended to `type`.
  Value convert(Value number, Type type);
  /// A comparison of two floats.
  Value isEqual(Value lhs, Value rhs);

  /// A tensor of unknown elements, one of the sizes of another, and one of
  /// equal elements.
  Value empty(ArrayRef<OpFoldResult> sizes, Type elementType);
  Value empty(std::initializer_list<Number> sizes, Type elementType);
  Value emptyLike(Value tensor, Type elementType);
  Value fill(Value destination, double value);
  /// A tensor with elements of another type.
  Value convertElements(Value tensor, FloatType type);

  /// Zeros to which what goes to `destination` is added in `type`: in its own
  /// place where that has such elements.
  Value emitSums(Value destination, FloatType type);
  /// Tensors with the elements that their destinations have.
  SmallVector<Value> convertAll(ValueRange tensors, ValueRange destinations);

  /// `for i in [begin, end)` that carries `initial` along.
  SmallVector<Value>
  loop(Value begin, Value end, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body);
  Value loop(Value begin, Value end, Value initial,
             function_ref<Value(Value, Value)> body);
  /// What one of two bodies emits, each in its branch.
  Value either(Value condition, function_ref<Value()> yes,
               function_ref<Value()> no);

  /// A box of a tensor, and a tensor with a box replaced.
  Value extract(Value tensor, const Box &box, int64_t lastStride = 1);
  Value insert(Value source, Value tensor, const Box &box,
               int64_t lastStride = 1);
  /// A box without its first dimensions of size 1, so that `rank` are left.
  Value slice(Value tensor, const Box &box, unsigned rank);

  /// A new value for each element of `destination`, from those of the inputs:
  /// `body` gets the elements. Dimensions are those of the destination;
  /// an input has the first ones, or the last ones if `alignLast` says so.
  /// The body may ask for the old element too, which comes last.
  Value map(ValueRange inputs, Value destination, ElementBody body,
            ArrayRef<bool> alignLast = {});

  /// `result += x * y` of two inputs, at the indices of both and of the result.
  Value multiplyAdd(ArrayRef<ArrayRef<AffineExpr>> indices, ValueRange inputs,
                    Value result);

  /// Ends an iteration of `loop` with a box of its result.
  void insertInParallel(scf::ForallOp loop, Value source, Value destination,
                        const Box &box);

  SmallVector<OpFoldResult> fold(ArrayRef<Number> numbers);
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_TENSORCODE_H

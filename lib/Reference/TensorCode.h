//===- TensorCode.h - Loops and slices of tensors -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_TENSORCODE_H
#define ATTN_REFERENCE_TENSORCODE_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// A box of a tensor: where it begins and how large it is, in each dimension.
struct Box {
  SmallVector<OpFoldResult> offsets, sizes;
};

/// Emits what the reference lowerings of the ops are written in. Bodies are
/// built through `b`, which points into the innermost one.
struct TensorCode {
  OpBuilder &b;
  Location loc;

  Value index(int64_t value);
  Value real(FloatType type, double value);
  Value add(Value lhs, Value rhs);
  Value subtract(Value lhs, Value rhs);
  Value dim(Value tensor, int64_t dimension);
  /// An integer of any type as an index.
  Value toIndex(Value integer);
  /// An element of a tensor of integers, as an index.
  Value load(Value tensor, ValueRange indices);
  /// A float rounded or extended to `type`.
  Value convert(Value number, Type type);
  /// A comparison of two floats.
  Value isEqual(Value lhs, Value rhs);

  /// A tensor of unknown elements, and one of equal elements.
  Value empty(ArrayRef<OpFoldResult> sizes, Type elementType);
  Value fill(Value destination, double value);

  /// `for i in [begin, end)` that carries `initial` along.
  SmallVector<Value>
  loop(Value begin, Value end, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body);

  /// A box of a tensor, and a tensor with a box replaced.
  Value extract(Value tensor, const Box &box, int64_t lastStride = 1);
  Value insert(Value source, Value tensor, const Box &box,
               int64_t lastStride = 1);

  /// A new value for each element of `destination`, from those of the inputs:
  /// `body` gets the elements. Dimensions are those of the destination;
  /// an input has the first ones, or the last ones if `alignLast` says so.
  /// The body may ask for the old element too, which comes last.
  Value map(ValueRange inputs, Value destination,
            function_ref<Value(ValueRange)> body,
            ArrayRef<bool> alignLast = {});

  /// `result += x * y` of two inputs; indices of both and of the result are
  /// expressions of loops, of which the last ones are reductions.
  Value multiplyAdd(ArrayRef<SmallVector<AffineExpr, 4>> exprs,
                    ValueRange inputs, Value result, unsigned numReductions);
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_TENSORCODE_H

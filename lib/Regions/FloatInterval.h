//===- FloatInterval.h - Between which numbers a float lies -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_FLOATINTERVAL_H
#define ATTN_REGIONS_FLOATINTERVAL_H

#include "lib/Regions/IntegerInterval.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::attn {

/// The bounds of a float over a tile, as operations that compute them.
struct FloatInterval {
  /// Of the float's type; null if nothing is known.
  Value low, high;
  /// Only then is the float between them, and no NaN.
  SymbolicFlag isKnown = false;

  explicit operator bool() const { return bool(low); }
};

/// Emits intervals of what floats are computed from. Rounding is monotone, so
/// that bounds rounded as the float is bound it; they are a little wider, for
/// an evaluation that rounds elsewhere, or not at all.
class FloatIntervalArithmetic {
public:
  explicit FloatIntervalArithmetic(SymbolicArithmetic &numbers)
      : n(numbers), b(numbers.getBuilder()), loc(numbers.getLoc()) {}

  /// A number that is the same everywhere in the tile, where `isThere`.
  FloatInterval point(Value number, const SymbolicFlag &isThere = true);
  /// Between numbers that may be NaN.
  FloatInterval between(Value low, Value high, const SymbolicFlag &isKnown);
  FloatInterval hull(const FloatInterval &lhs, const FloatInterval &rhs);

  /// The result of an operation on floats; null if nothing is known of it.
  FloatInterval evaluate(Operation *op, ArrayRef<FloatInterval> operands);
  /// An integer as a float.
  FloatInterval convert(Type type, const IntegerInterval &integer);

  /// How two floats may compare.
  struct Comparison {
    SymbolicFlag canBeTrue = true, canBeFalse = true;
  };
  Comparison compare(arith::CmpFPredicate predicate, const FloatInterval &lhs,
                     const FloatInterval &rhs);

private:
  template <typename Op> Value emit(Value lhs, Value rhs) {
    return b.createOrFold<Op>(loc, lhs, rhs);
  }
  SymbolicFlag is(arith::CmpFPredicate predicate, Value lhs, Value rhs);
  SymbolicFlag areFinite(ArrayRef<FloatInterval> intervals);
  Value constant(Type type, double number);
  FloatInterval widen(const FloatInterval &interval);
  FloatInterval scale(const FloatInterval &lhs, const FloatInterval &rhs,
                      function_ref<Value(Value, Value)> combine);

  SymbolicArithmetic &n;
  OpBuilder &b;
  Location loc;
};

} // namespace mlir::attn

#endif // ATTN_REGIONS_FLOATINTERVAL_H

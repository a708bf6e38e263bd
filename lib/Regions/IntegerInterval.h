//===- IntegerInterval.h - Intervals of integers ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_INTEGERINTERVAL_H
#define ATTN_REGIONS_INTEGERINTERVAL_H

#include "lib/Regions/SymbolicNumber.h"

namespace mlir::attn {

/// Width of an integer, or of index.
unsigned getIntegerWidth(Type type);

/// The integers `low <= x <= high`, each read as signed.
struct IntegerInterval {
  SymbolicNumber low, high;

  IntegerInterval(SymbolicNumber point) : low(point), high(point) {}
  IntegerInterval(SymbolicNumber low, SymbolicNumber high)
      : low(low), high(high) {}
  /// Every integer of `width` bits.
  static IntegerInterval ofWidth(unsigned width);

  bool isPoint() const { return low.isSameAs(high); }
};

/// What an integer operation yields for all operands of some intervals.
struct IntervalResult {
  IntegerInterval range;
  /// True if nothing wraps around, so that the operation is that of the whole
  /// numbers. If not, `range` is all that the type holds.
  SymbolicFlag isExact = true;
  /// `range`, known only where `isExact`, so that more is known while
  /// compiling.
  IntegerInterval exactRange = range;
};

/// Operations on integers of `width` bits that wrap around. Where the interval
/// of a result is not found it is that of the type.
class IntervalArithmetic {
public:
  using Interval = IntegerInterval;

  explicit IntervalArithmetic(SymbolicArithmetic &numbers) : n(numbers) {}

  IntervalResult add(Interval lhs, Interval rhs, unsigned width);
  IntervalResult subtract(Interval lhs, Interval rhs, unsigned width);
  IntervalResult multiply(Interval lhs, Interval rhs, unsigned width);
  IntervalResult square(Interval x, unsigned width);

  enum class Rounding { Down, Up, ToZero };
  IntervalResult divide(Interval lhs, Interval rhs, unsigned width,
                        Rounding rounding, bool isSigned);
  Interval remainder(Interval lhs, Interval rhs, unsigned width, bool isSigned);

  Interval min(Interval lhs, Interval rhs, unsigned width, bool isSigned);
  Interval max(Interval lhs, Interval rhs, unsigned width, bool isSigned);
  IntervalResult absolute(Interval operand, unsigned width);

  Interval bitwiseAnd(Interval lhs, Interval rhs, unsigned width);
  Interval bitwiseOr(Interval lhs, Interval rhs, unsigned width);
  Interval bitwiseXor(Interval lhs, Interval rhs, unsigned width);
  IntervalResult shiftLeft(Interval lhs, Interval rhs, unsigned width);
  IntervalResult shiftRight(Interval lhs, Interval rhs, unsigned width,
                            bool isSigned);

  /// Between any two widths.
  IntervalResult convert(Interval operand, unsigned from, unsigned to,
                         bool isSigned);

  /// Two numbers of at most this magnitude have a sum and a difference.
  static constexpr int64_t kMaxSummand = SymbolicNumber::kMax / 2;
  /// And two of at most this one a product.
  static constexpr int64_t kMaxFactor = int64_t(1) << 31;

  /// Clamps to [-bound, bound] what may be outside as far as is known while
  /// compiling. `isInside` is made false where that changes something.
  Interval clamp(Interval x, int64_t bound, SymbolicFlag &isInside);

  /// The union and the points between.
  Interval hull(Interval lhs, Interval rhs);
  Interval select(const SymbolicFlag &condition, Interval ifTrue,
                  Interval ifFalse);
  SymbolicFlag isNegative(const Interval &x) { return n.isLess(x.high, 0); }
  SymbolicFlag isNonNegative(const Interval &x) { return n.isAtMost(0, x.low); }
  SymbolicFlag isPositive(const Interval &x) { return n.isLess(0, x.low); }

private:
  IntervalResult wrap(Interval range, SymbolicFlag isExact, unsigned width);
  std::optional<Interval> product(const Interval &lhs, const Interval &rhs);
  Interval modulo(const Interval &x, const SymbolicNumber &divisor);

  SymbolicArithmetic &n;
};

} // namespace mlir::attn

#endif // ATTN_REGIONS_INTEGERINTERVAL_H

//===- IntegerInterval.cpp - Intervals of integers ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// With x in [a, b] and y in [c, d], where nothing wraps around:
//
//   operation            interval                          if
//   x + y                [a + c, b + d]
//   x - y                [a - d, b - c]
//   x * y                [min, max] of a*c, a*d, b*c, b*d
//   x * x                [min, max] of a*a, b*b, and 0     if it is in [a, b]
//   x / y                [min, max] of a/c, a/d, b/c, b/d  c > 0
//   x mod y              [a mod c, b mod c]                c = d > 0 and
//                                                          a div c = b div c
//                        [0, c - 1]                        c = d > 0
//   min(x, y)            [min(a, c), min(b, d)]            max likewise
//   |x|                  [max(0, a, -b), max(-a, b)]
//   x and 2^k - 1        x mod 2^k
//   x and -2^k           [a div 2^k * 2^k, b div 2^k * 2^k]
//   x and y              [0, min(b, d)]                    a, c >= 0
//   x or y, x xor y      [0, 2^k - 1]                      a, c >= 0; b, d <
//   2^k x shl k, x shr k     x * 2^k, x div 2^k
//
// Unsigned operations are the signed ones where the operands are not negative.
// A point, [a, a], is computed once, so that it stays a point.
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/IntegerInterval.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

using Flag = SymbolicFlag;
using Interval = IntegerInterval;
using Number = SymbolicNumber;

unsigned mlir::attn::getIntegerWidth(Type type) {
  return type.isIndex() ? IndexType::kInternalStorageBitWidth
                        : type.getIntOrFloatBitWidth();
}

Interval Interval::ofWidth(unsigned width) {
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

/// `compute(low, high)` of the ends, once for points.
template <typename Function>
static Interval combine(const Interval &lhs, const Interval &rhs,
                        Function compute) {
  Number low = compute(lhs.low, rhs.low);
  if (lhs.isPoint() && rhs.isPoint())
    return low;
  return {low, compute(lhs.high, rhs.high)};
}
template <typename Function>
static Interval map(const Interval &x, Function compute) {
  return combine(x, x, [&](const Number &end, const Number &) -> Number {
    return compute(end);
  });
}
/// The same for what has a result only if it does not overflow.
template <typename Function>
static std::optional<Interval>
tryCombine(const Interval &lhs, const Interval &rhs, Function compute) {
  bool overflows = false;
  Interval result = combine(lhs, rhs, [&](const Number &a, const Number &b) {
    std::optional<Number> number = compute(a, b);
    overflows |= !number;
    return number.value_or(0);
  });
  return overflows ? std::nullopt : std::optional(result);
}

//===----------------------------------------------------------------------===//
// Overflow
//===----------------------------------------------------------------------===//

/// `range` if it fits the type and `isExact`, else all of the type.
IntervalResult IntervalArithmetic::wrap(Interval range, Flag isExact,
                                        unsigned width) {
  Interval type = Interval::ofWidth(width);
  isExact = n.both(isExact, n.both(n.isAtMost(type.low, range.low),
                                   n.isAtMost(range.high, type.high)));
  return {select(isExact, range, type), isExact, range};
}

Interval IntervalArithmetic::clamp(Interval x, int64_t bound, Flag &isInside) {
  isInside = n.both(
      isInside, n.both(n.isAtMost(-bound, x.low), n.isAtMost(x.high, bound)));
  return map(x, [&](Number end) { return n.clamp(end, -bound, bound); });
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

IntervalResult IntervalArithmetic::add(Interval lhs, Interval rhs,
                                       unsigned width) {
  auto compute = [&](Number a, Number b) { return n.add(a, b); };
  Flag isExact = true;
  std::optional<Interval> sum = tryCombine(lhs, rhs, compute);
  if (!sum) {
    lhs = clamp(lhs, kMaxSummand, isExact);
    rhs = clamp(rhs, kMaxSummand, isExact);
    sum = tryCombine(lhs, rhs, compute);
  }
  return wrap(*sum, isExact, width);
}

IntervalResult IntervalArithmetic::subtract(Interval lhs, Interval rhs,
                                            unsigned width) {
  auto compute = [&](Number a, Number b) { return n.subtract(a, b); };
  auto swapped = [](const Interval &x) { return Interval(x.high, x.low); };
  Flag isExact = true;
  std::optional<Interval> difference = tryCombine(lhs, swapped(rhs), compute);
  if (!difference) {
    lhs = clamp(lhs, kMaxSummand, isExact);
    rhs = clamp(rhs, kMaxSummand, isExact);
    difference = tryCombine(lhs, swapped(rhs), compute);
  }
  return wrap(*difference, isExact, width);
}

std::optional<Interval> IntervalArithmetic::product(const Interval &lhs,
                                                    const Interval &rhs) {
  if (lhs.isPoint() && !rhs.isPoint())
    return product(rhs, lhs);
  auto compute = [&](Number a, Number b) { return n.multiply(a, b); };
  std::optional<Interval> first = tryCombine(lhs, rhs.low, compute);
  std::optional<Interval> second =
      rhs.isPoint() ? first : tryCombine(lhs, rhs.high, compute);
  if (!first || !second)
    return std::nullopt;
  if (rhs.isPoint() && rhs.low.least >= 0)
    return first;
  if (rhs.isPoint() && rhs.low.greatest <= 0)
    return Interval(first->high, first->low);
  if (lhs.isPoint())
    return first;
  return Interval(
      n.min(n.min(first->low, first->high), n.min(second->low, second->high)),
      n.max(n.max(first->low, first->high), n.max(second->low, second->high)));
}

IntervalResult IntervalArithmetic::multiply(Interval lhs, Interval rhs,
                                            unsigned width) {
  if (lhs.low.isConstant() && lhs.isPoint())
    std::swap(lhs, rhs);
  Flag isExact = true;
  std::optional<Interval> result = product(lhs, rhs);
  if (!result && rhs.low.isConstant() && rhs.isPoint()) {
    int64_t factor = rhs.low.least;
    lhs =
        clamp(lhs, factor == Number::kMin ? 0 : Number::kMax / std::abs(factor),
              isExact);
    result = product(lhs, rhs);
  } else if (!result) {
    lhs = clamp(lhs, kMaxFactor, isExact);
    rhs = clamp(rhs, kMaxFactor, isExact);
    result = product(lhs, rhs);
  }
  return wrap(*result, isExact, width);
}

IntervalResult IntervalArithmetic::square(Interval x, unsigned width) {
  Flag isExact = true;
  if (x.low.least < -kMaxFactor || x.high.greatest > kMaxFactor)
    x = clamp(x, kMaxFactor, isExact);
  Interval ends = map(x, [&](Number end) { return *n.multiply(end, end); });
  if (x.isPoint())
    return wrap(ends, isExact, width);
  // One of both is not of its sign where 0 is between them.
  Number least = n.max(n.max(x.low, *n.subtract(0, x.high)), 0);
  return wrap({*n.multiply(least, least), n.max(ends.low, ends.high)}, isExact,
              width);
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

IntervalResult IntervalArithmetic::divide(Interval lhs, Interval rhs,
                                          unsigned width, Rounding rounding,
                                          bool isSigned) {
  Flag isExact = isPositive(rhs);
  if (!isSigned)
    isExact = n.both(isExact, isNonNegative(lhs));
  if (isExact.isFalse())
    return {Interval::ofWidth(width), false};
  auto divideBy = [&](Number divisor) {
    divisor = n.max(divisor, 1);
    return map(lhs, [&](Number end) {
      switch (rounding) {
      case Rounding::Down:
        return n.floorDivide(end, divisor);
      case Rounding::Up:
        return n.ceilDivide(end, divisor);
      case Rounding::ToZero:
        return n.truncateDivide(end, divisor);
      }
      llvm_unreachable("unknown rounding");
    });
  };
  Interval quotient = divideBy(rhs.low);
  if (!rhs.isPoint()) {
    Interval other = divideBy(rhs.high);
    quotient = {n.min(quotient.low, other.low),
                n.max(quotient.high, other.high)};
  }
  return wrap(quotient, isExact, width);
}

/// Exact where all numbers have one quotient, rounded down.
Interval IntervalArithmetic::modulo(const Interval &x, const Number &divisor) {
  if (x.isPoint())
    return n.modulo(x.low, divisor);
  Flag inOnePeriod =
      n.isEqual(n.floorDivide(x.low, divisor), n.floorDivide(x.high, divisor));
  if (inOnePeriod.isFalse())
    return {0, *n.add(divisor, -1)};
  Interval exact(n.modulo(x.low, divisor), n.modulo(x.high, divisor));
  return select(inOnePeriod, exact, {0, *n.add(divisor, -1)});
}

Interval IntervalArithmetic::remainder(Interval lhs, Interval rhs,
                                       unsigned width, bool isSigned) {
  Interval type = Interval::ofWidth(width);
  Flag isKnown = isPositive(rhs);
  if (!rhs.isPoint() || isKnown.isFalse())
    return type;
  Number divisor = n.max(rhs.low, 1);
  Number last = *n.add(divisor, -1);
  Interval any(isSigned ? *n.subtract(0, last) : Number(0), last);
  Flag isModulo = isNonNegative(lhs);
  if (isModulo.isFalse())
    return select(isKnown, any, type);
  lhs = map(lhs, [&](Number end) { return n.max(end, 0); });
  return select(isKnown, select(isModulo, modulo(lhs, divisor), any), type);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Interval IntervalArithmetic::min(Interval lhs, Interval rhs, unsigned width,
                                 bool isSigned) {
  Interval result = combine(
      lhs, rhs, [&](Number a, Number b) -> Number { return n.min(a, b); });
  if (isSigned)
    return result;
  return select(n.both(isNonNegative(lhs), isNonNegative(rhs)), result,
                Interval::ofWidth(width));
}

Interval IntervalArithmetic::max(Interval lhs, Interval rhs, unsigned width,
                                 bool isSigned) {
  Interval result = combine(
      lhs, rhs, [&](Number a, Number b) -> Number { return n.max(a, b); });
  if (isSigned)
    return result;
  return select(n.both(isNonNegative(lhs), isNonNegative(rhs)), result,
                Interval::ofWidth(width));
}

IntervalResult IntervalArithmetic::absolute(Interval operand, unsigned width) {
  IntervalResult negated = subtract(Number(0), operand, width);
  Interval result = max(operand, negated.range, width, /*isSigned=*/true);
  if (!result.isPoint())
    result.low = n.max(result.low, 0);
  return wrap(result, negated.isExact, width);
}

Interval IntervalArithmetic::hull(Interval lhs, Interval rhs) {
  return {n.min(lhs.low, rhs.low), n.max(lhs.high, rhs.high)};
}

Interval IntervalArithmetic::select(const Flag &condition, Interval ifTrue,
                                    Interval ifFalse) {
  return combine(ifTrue, ifFalse, [&](Number a, Number b) -> Number {
    return n.select(condition, a, b);
  });
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Interval IntervalArithmetic::bitwiseAnd(Interval lhs, Interval rhs,
                                        unsigned width) {
  auto isConstant = [](const Interval &x) {
    return x.isPoint() && x.low.isConstant();
  };
  if (isConstant(lhs) && isConstant(rhs))
    return Number(lhs.low.least & rhs.low.least);
  if (isConstant(lhs))
    std::swap(lhs, rhs);
  if (isConstant(rhs)) {
    int64_t mask = rhs.low.least;
    if (mask >= 0 && mask < Number::kMax && llvm::isPowerOf2_64(mask + 1))
      return modulo(lhs, mask + 1);
    if (mask < 0 && mask > Number::kMin && llvm::isPowerOf2_64(-mask))
      return map(lhs, [&](Number end) -> Number {
        return *n.multiply(n.floorDivide(end, -mask), -mask);
      });
  }
  if (lhs.low.least >= 0 && rhs.low.least >= 0)
    return {0, n.min(lhs.high, rhs.high)};
  if (lhs.low.least >= 0 || rhs.low.least >= 0)
    return {0, lhs.low.least >= 0 ? lhs.high : rhs.high};
  return Interval::ofWidth(width);
}

/// All numbers with no more bits than two that are not negative.
static Interval coverBits(const Interval &lhs, const Interval &rhs,
                          unsigned width) {
  if (lhs.low.least < 0 || rhs.low.least < 0)
    return Interval::ofWidth(width);
  uint64_t all = uint64_t(std::max(lhs.high.greatest, rhs.high.greatest));
  return {0, int64_t(all ? llvm::bit_ceil(all + 1) - 1 : 0)};
}

Interval IntervalArithmetic::bitwiseOr(Interval lhs, Interval rhs,
                                       unsigned width) {
  return coverBits(lhs, rhs, width);
}

Interval IntervalArithmetic::bitwiseXor(Interval lhs, Interval rhs,
                                        unsigned width) {
  for (auto [mask, x] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (mask.isPoint() && mask.low.isConstant() && mask.low.least == -1)
      return subtract(Number(-1), x, width).range;
  return coverBits(lhs, rhs, width);
}

/// The shift amount, if it is a constant that is in range.
static std::optional<unsigned> getConstantAmount(const Interval &rhs,
                                                 unsigned width) {
  if (!rhs.isPoint() || !rhs.low.isConstant() || rhs.low.least < 0 ||
      rhs.low.least >= std::min<int64_t>(width, 63))
    return std::nullopt;
  return unsigned(rhs.low.least);
}

IntervalResult IntervalArithmetic::shiftLeft(Interval lhs, Interval rhs,
                                             unsigned width) {
  if (std::optional<unsigned> amount = getConstantAmount(rhs, width))
    return multiply(lhs, Number(int64_t(1) << *amount), width);
  return {Interval::ofWidth(width), false};
}

IntervalResult IntervalArithmetic::shiftRight(Interval lhs, Interval rhs,
                                              unsigned width, bool isSigned) {
  if (std::optional<unsigned> amount = getConstantAmount(rhs, width))
    return divide(lhs, Number(int64_t(1) << *amount), width, Rounding::Down,
                  isSigned);
  return {Interval::ofWidth(width), false};
}

IntervalResult IntervalArithmetic::convert(Interval operand, unsigned from,
                                           unsigned to, bool isSigned) {
  if (isSigned || to <= from)
    return wrap(operand, true, to);
  Flag isExact = isNonNegative(operand);
  Interval type(0, int64_t(llvm::maxUIntN(from)));
  return {select(isExact, operand, type), isExact};
}

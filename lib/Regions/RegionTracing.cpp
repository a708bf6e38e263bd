//===- RegionTracing.cpp - From bounds of integers to keys ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The bound of a number is traced back through the operations that made it up
// to the key. With a in [low, high], over all positions of the tile:
//
//   bound           bound of x
//   x + a < c       x < c - low            x + a >= c       x >= c - high
//   x - a < c       x < c + high           x - a >= c       x >= c + low
//   a - x < c       x >= low - c + 1       a - x >= c       x < high - c + 1
//   x * a < c       x < ceil(c / a)        x * a >= c       x >= ceil(c / a)
//   x div a < c     x < c * a              x div a >= c     x >= c * a
//   x mod k < c     x < high div k * k + c
//   x mod k >= c    x >= low div k * k + c, where x is in [low, high]
//   |x| < c         x < c and x >= 1 - c
//   x * x < c       |x| < r, the least with r * r >= c
//   max(x, y) < c   x < c and y < c        max(x, y) >= c   x >= c or y >= c
//   min(x, y) < c   x < c or y < c         min(x, y) >= c   x >= c and y >= c
//
// where a > 0 in products and quotients, of which the wider bound of both ends
// of a is taken, k > 0 is a number, and x is not negative if division rounds to
// zero, as for remainders that are not rounded down. These bound the first and
// the last period in a block. Where both operands depend on the key, each is
// bounded by the interval of the other.
//

#include "lib/Regions/RegionAnalysis.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// The bounds of one comparison are traced back through this many operations,
/// so that the code stays in proportion to the region's.
static constexpr unsigned kMaxTraced = 32;

/// The keys for which `value` can be below, or at least, `bound`; all if there
/// is no value or no bound.
KeySet RegionAnalysis::findKeys(Value value, Side side,
                                std::optional<SymbolicNumber> bound) {
  if (!value || !bound)
    return sets.all();
  if (value == key)
    return side == Side::Below ? sets.below(*bound) : sets.from(*bound);
  RegionFact fact = getFact(value);
  Operation *op = value.getDefiningOp();
  if (!fact.dependsOnKey || fact.isExact.isFalse() || !op ||
      value.getType().isInteger(1) || numTraced == kMaxTraced)
    return sets.all();
  // Beyond what the value can be, bounds do not differ; but they may overflow.
  int64_t greatest = fact.range.high.greatest;
  bound = n.clamp(*bound, fact.range.low.least,
                  greatest == SymbolicNumber::kMax ? greatest : greatest + 1);
  ++numTraced;
  return sets.select(fact.isExact, findKeysOfOperand(op, side, *bound),
                     sets.all());
}

//===----------------------------------------------------------------------===//
// Sums and differences
//===----------------------------------------------------------------------===//

/// The interval of what has a sum with any bound. Where `isExact` becomes false
/// it may be any other.
IntegerInterval RegionAnalysis::getSummand(Value value, SymbolicFlag &isExact) {
  RegionFact fact = getFact(value);
  IntegerInterval range = getRange(value);
  if (fact.isExact.getValue()) {
    isExact = n.both(isExact, fact.isExact);
    range = fact.exactRange;
  }
  return intervals.clamp(range, intervals.kMaxSummand, isExact);
}

KeySet RegionAnalysis::findKeysOfSum(Operation *op, Side side,
                                     const SymbolicNumber &bound) {
  auto findBeside = [&](Value x, Value other) {
    if (!getFact(x).dependsOnKey)
      return sets.all();
    SymbolicFlag isExact = true;
    IntegerInterval a = getSummand(other, isExact);
    std::optional<SymbolicNumber> rest =
        n.subtract(bound, side == Side::Below ? a.low : a.high);
    return sets.select(isExact, findKeys(x, side, rest), sets.all());
  };
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  return intersectOperands(findBeside(lhs, rhs), findBeside(rhs, lhs));
}

KeySet RegionAnalysis::findKeysOfDifference(Operation *op, Side side,
                                            const SymbolicNumber &bound) {
  bool isBelow = side == Side::Below;
  auto findBeside = [&](Value x, Value other, bool isNegated) {
    if (!getFact(x).dependsOnKey)
      return sets.all();
    SymbolicFlag isExact = true;
    IntegerInterval a = getSummand(other, isExact);
    if (!isNegated)
      return sets.select(
          isExact, findKeys(x, side, n.add(bound, isBelow ? a.high : a.low)),
          sets.all());
    std::optional<SymbolicNumber> rest =
        n.subtract(isBelow ? a.low : a.high, bound);
    return sets.select(isExact,
                       findKeys(x, isBelow ? Side::From : Side::Below,
                                rest ? n.add(*rest, 1) : std::nullopt),
                       sets.all());
  };
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  return intersectOperands(findBeside(lhs, rhs, /*isNegated=*/false),
                           findBeside(rhs, lhs, /*isNegated=*/true));
}

/// What both bound, of which the one may bound the other in fewer keys more.
KeySet RegionAnalysis::intersectOperands(const KeySet &lhs, const KeySet &rhs) {
  KeySet keys = sets.intersect(lhs, rhs);
  keys.hasGaps |= !sets.isAll(lhs) && !sets.isAll(rhs);
  return keys;
}

//===----------------------------------------------------------------------===//
// Products and quotients
//===----------------------------------------------------------------------===//

/// What an operation multiplies or divides by: 2^k for a shift, and none if it
/// is known that it may be less than 1.
std::optional<IntegerInterval> RegionAnalysis::getFactor(Value amount,
                                                         bool isShift) {
  IntegerInterval factor = getRange(amount);
  if (isShift) {
    if (!factor.isPoint() || !factor.low.isConstant())
      return std::nullopt;
    int64_t constant = factor.low.least;
    if (constant < 0 || constant >= 62)
      return std::nullopt;
    factor = SymbolicNumber(int64_t(1) << constant);
  }
  if (intervals.isPositive(factor).isFalse())
    return std::nullopt;
  return factor;
}

/// Of `x * factor`, or of `x div factor` rounded down.
KeySet RegionAnalysis::findKeysOfScaled(Value x, IntegerInterval factor,
                                        bool isProduct, Side side,
                                        SymbolicNumber bound) {
  SymbolicFlag isKnown = intervals.isPositive(factor);
  bool isPoint = factor.isPoint();
  SymbolicNumber least = n.max(factor.low, 1), greatest = n.max(factor.high, 1);
  auto scale = [&](const SymbolicNumber &by) -> std::optional<SymbolicNumber> {
    if (isProduct)
      return n.ceilDivide(bound, by);
    return n.multiply(bound, by);
  };
  std::optional<SymbolicNumber> first = scale(least);
  std::optional<SymbolicNumber> second = isPoint ? first : scale(greatest);
  if (!first || !second) {
    auto clamp = [&](const SymbolicNumber &number) {
      return intervals.clamp(number, intervals.kMaxFactor, isKnown).low;
    };
    bound = clamp(bound);
    first = scale(clamp(least));
    second = isPoint ? first : scale(clamp(greatest));
  }
  if (!isPoint)
    first =
        side == Side::Below ? n.max(*first, *second) : n.min(*first, *second);
  return sets.select(isKnown, findKeys(x, side, first), sets.all());
}

KeySet RegionAnalysis::findKeysOfProduct(Operation *op, Side side,
                                         const SymbolicNumber &bound) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool isShift = isa<arith::ShLIOp, index::ShlOp>(op);
  if (lhs == rhs && !isShift)
    return findKeysOfSquare(lhs, side, bound);
  auto findBeside = [&](Value x, Value other) {
    std::optional<IntegerInterval> factor = getFactor(other, isShift);
    if (!factor || !getFact(x).dependsOnKey)
      return sets.all();
    return findKeysOfScaled(x, *factor, /*isProduct=*/true, side, bound);
  };
  if (isShift)
    return findBeside(lhs, rhs);
  return intersectOperands(findBeside(lhs, rhs), findBeside(rhs, lhs));
}

/// The greatest number that the bound can be is taken: there is no square root
/// of integers that are known only at run time.
KeySet RegionAnalysis::findKeysOfSquare(Value x, Side side,
                                        const SymbolicNumber &bound) {
  if (side == Side::From)
    return sets.all();
  if (bound.greatest <= 0)
    return KeySetArithmetic::none();
  auto most = uint64_t(bound.greatest) - 1;
  auto root = uint64_t(std::sqrt(double(most))) + 1; // Rounded up, or more.
  while (root * root > most)
    --root;
  auto greatest = int64_t(root);
  return sets.intersect(findKeys(x, Side::Below, greatest + 1),
                        findKeys(x, Side::From, -greatest));
}

/// Of `x and 2^k - 1` too, which is the remainder of a negative x as well if
/// that is rounded down.
KeySet RegionAnalysis::findKeysOfRemainder(Operation *op, Side side,
                                           const SymbolicNumber &bound) {
  Value lhs = op->getOperand(0);
  IntegerInterval x = getRange(lhs), period = getRange(op->getOperand(1));
  if (!period.isPoint() || !period.low.isConstant())
    return sets.all();
  SymbolicNumber divisor = period.low;
  if (isa<arith::AndIOp, index::AndOp>(op)) {
    bool isMask = divisor.least > 0 && llvm::isMask_64(uint64_t(divisor.least));
    divisor =
        isMask && divisor.least < SymbolicNumber::kMax ? divisor.least + 1 : 0;
  } else if (x.low.least < 0) {
    return sets.all();
  }
  if (divisor.least < 1)
    return sets.all();
  std::optional<SymbolicNumber> start = n.multiply(
      n.floorDivide(side == Side::Below ? x.high : x.low, divisor), divisor);
  KeySet keys = findKeys(lhs, side, start ? n.add(*start, bound) : start);
  keys.hasGaps = !sets.isAll(keys);
  return keys;
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

KeySet RegionAnalysis::findKeysOfExtremum(Operation *op, Side side,
                                          const SymbolicNumber &bound) {
  auto findOperand = [&](Value x) {
    IntegerInterval range = getRange(x);
    return sets.intersect(findKeys(x, side, bound),
                          sets.when(side == Side::Below
                                        ? n.isLess(range.low, bound)
                                        : n.isAtMost(bound, range.high)));
  };
  KeySet lhs = findOperand(op->getOperand(0)),
         rhs = findOperand(op->getOperand(1));
  bool isMaximum = isa<arith::MaxSIOp, index::MaxSOp>(op);
  return isMaximum == (side == Side::Below) ? sets.intersect(lhs, rhs)
                                            : sets.unite(lhs, rhs);
}

KeySet RegionAnalysis::findKeysOfOperand(Operation *op, Side side,
                                         const SymbolicNumber &bound) {
  if (isa<arith::AddIOp, index::AddOp>(op))
    return findKeysOfSum(op, side, bound);
  if (isa<arith::SubIOp, index::SubOp>(op))
    return findKeysOfDifference(op, side, bound);
  if (isa<arith::MulIOp, index::MulOp, arith::ShLIOp, index::ShlOp>(op))
    return findKeysOfProduct(op, side, bound);
  if (isa<arith::RemSIOp, arith::RemUIOp, index::RemSOp, index::RemUOp,
          arith::AndIOp, index::AndOp>(op))
    return findKeysOfRemainder(op, side, bound);
  if (isa<arith::MaxSIOp, arith::MinSIOp, index::MaxSOp, index::MinSOp>(op))
    return findKeysOfExtremum(op, side, bound);

  Value lhs = op->getOperand(0);
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
          arith::IndexCastUIOp, index::CastSOp, index::CastUOp>(op))
    return findKeys(lhs, side, bound);
  if (isa<math::AbsIOp>(op)) {
    if (side == Side::From)
      return sets.all();
    return sets.intersect(findKeys(lhs, Side::Below, bound),
                          findKeys(lhs, Side::From, n.subtract(1, bound)));
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) { // See `evaluateSelect`.
    bool isFalse = getFact(lhs).canBeTrue.isNone();
    return findKeys(isFalse ? select.getFalseValue() : select.getTrueValue(),
                    side, bound);
  }

  bool isShift =
      isa<arith::ShRSIOp, arith::ShRUIOp, index::ShrSOp, index::ShrUOp>(op);
  bool roundsDown = isShift || isa<arith::FloorDivSIOp, index::FloorDivSOp,
                                   arith::DivUIOp, index::DivUOp>(op);
  bool roundsToZero = isa<arith::DivSIOp, index::DivSOp>(op);
  if (roundsDown || (roundsToZero && getRange(lhs).low.least >= 0))
    if (auto factor = getFactor(op->getOperand(1), isShift))
      return findKeysOfScaled(lhs, *factor, /*isProduct=*/false, side, bound);
  return sets.all();
}

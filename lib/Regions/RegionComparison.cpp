//===- RegionComparison.cpp - Where integers of a region compare ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// `x < y` can hold only if low(x) < high(y), and only for keys for which
// `x < high(y)` and `y > low(x)` can. Such a bound is traced back through the
// operations that made x or y up to the key. With a in [low, high] that does
// not depend on the key:
//
//   bound           bound of x
//   x + a < c       x < c - low            x + a >= c       x >= c - high
//   x - a < c       x < c + high           x - a >= c       x >= c + low
//   a - x < c       x >= low - c + 1       a - x >= c       x < high - c + 1
//   x * k < c       x < ceil(c / k)        x * k >= c       x >= ceil(c / k)
//   x div k < c     x < c * k              x div k >= c     x >= c * k
//   x mod k < c     x < high div k * k + c
//   x mod k >= c    x >= low div k * k + c, where x is in [low, high]
//   |x| < c         x < c and x >= 1 - c
//
// where k > 0 is a number, and x not negative if division rounds to zero, as
// for remainders that are not rounded down. These bound the first and the last
// period in a block.
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/RegionAnalysis.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

using arith::CmpIPredicate;

/// Bounds are traced back through this many operations, so that the code stays
/// in proportion to the region's.
static constexpr unsigned kMaxDepth = 16;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Whether a value is the key plus or minus what does not depend on it, so that
/// its bounds are exactly those of keys.
bool RegionAnalysis::isMovedKey(Value value) {
  constexpr int64_t limit = (int64_t(1) << 62) - 2; // No sum of two overflows.
  auto isSmall = [](const IntegerInterval &x) {
    return x.low.least >= -limit && x.high.greatest <= limit;
  };
  for (unsigned step = 0; value && step < kMaxDepth; ++step) {
    if (value == key)
      return true;
    Operation *op = value.getDefiningOp();
    RegionFact fact = getFact(value);
    if (!isa_and_nonnull<arith::AddIOp, index::AddOp, arith::SubIOp,
                         index::SubOp>(op) ||
        !fact.isExact.isTrue() || !isSmall(fact.range))
      return false;
    Value moved = op->getOperand(0), distance = op->getOperand(1);
    if (!getFact(moved).dependsOnKey)
      std::swap(moved, distance);
    if (getFact(distance).dependsOnKey || !isSmall(getRange(distance)))
      return false;
    value = moved;
  }
  return false;
}

KeySet RegionAnalysis::canBeLess(const Operand &lhs, const Operand &rhs) {
  if (lhs.value && lhs.value == rhs.value)
    return KeySetArithmetic::none();
  // Nothing is above the greatest number.
  std::optional<SymbolicNumber> next =
      n.add(n.min(lhs.range.low, SymbolicNumber::kMax - 1), 1);
  KeySet keys = sets.intersect(findKeys(lhs.value, Side::Below, rhs.range.high),
                               findKeys(rhs.value, Side::From, next));
  if (isMovedKey(lhs.value) || isMovedKey(rhs.value))
    return keys; // Empty where the next condition is false.
  return sets.intersect(keys,
                        sets.when(n.isLess(lhs.range.low, rhs.range.high)));
}

KeySet RegionAnalysis::canBeAtMost(const Operand &lhs, const Operand &rhs) {
  if (lhs.value && lhs.value == rhs.value)
    return sets.all();
  KeySet keys = findKeys(rhs.value, Side::From, lhs.range.low);
  int64_t greatest = lhs.range.high.greatest;
  if (greatest < SymbolicNumber::kMax) {
    // Above what the left side can be, bounds do not differ.
    SymbolicNumber bound = rhs.range.high;
    if (bound.greatest == SymbolicNumber::kMax)
      bound = n.min(bound, greatest);
    keys =
        sets.intersect(keys, findKeys(lhs.value, Side::Below, n.add(bound, 1)));
  }
  if (isMovedKey(lhs.value) || isMovedKey(rhs.value))
    return keys; // Empty where the next condition is false.
  return sets.intersect(keys,
                        sets.when(n.isAtMost(lhs.range.low, rhs.range.high)));
}

void RegionAnalysis::evaluateCompare(Operation *op, CmpIPredicate predicate) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  RegionFact &fact = facts[op->getResult(0)];
  if (lhs.getType().isInteger(1)) {
    if (predicate == CmpIPredicate::eq || predicate == CmpIPredicate::ne)
      evaluateEquality(fact, getFact(lhs), getFact(rhs));
    if (predicate == CmpIPredicate::ne)
      std::swap(fact.canBeTrue, fact.canBeFalse);
    return;
  }
  Operand a = getOperand(lhs), b = getOperand(rhs);
  switch (predicate) {
  case CmpIPredicate::eq:
  case CmpIPredicate::ne:
    fact.canBeTrue = canBeEqual(a, b);
    fact.canBeFalse = sets.unite(canBeLess(a, b), canBeLess(b, a));
    break;
  case CmpIPredicate::slt:
  case CmpIPredicate::sge:
    fact.canBeTrue = canBeLess(a, b);
    fact.canBeFalse = canBeAtMost(b, a);
    break;
  case CmpIPredicate::sle:
  case CmpIPredicate::sgt:
    fact.canBeTrue = canBeAtMost(a, b);
    fact.canBeFalse = canBeLess(b, a);
    break;
  case CmpIPredicate::ult:
  case CmpIPredicate::uge:
    fact.canBeTrue = assumeUnsigned(a, b, canBeLess(a, b));
    fact.canBeFalse = assumeUnsigned(b, a, canBeAtMost(b, a));
    break;
  case CmpIPredicate::ule:
  case CmpIPredicate::ugt:
    fact.canBeTrue = assumeUnsigned(a, b, canBeAtMost(a, b));
    fact.canBeFalse = assumeUnsigned(b, a, canBeLess(b, a));
    break;
  }
  if (predicate == CmpIPredicate::ne || predicate == CmpIPredicate::sge ||
      predicate == CmpIPredicate::sgt || predicate == CmpIPredicate::uge ||
      predicate == CmpIPredicate::ugt)
    std::swap(fact.canBeTrue, fact.canBeFalse);
}

/// a == b of type i1.
void RegionAnalysis::evaluateEquality(RegionFact &fact, const RegionFact &a,
                                      const RegionFact &b) {
  auto both = [&](const KeySet &x, const KeySet &y) {
    return sets.intersect(x, y);
  };
  fact.canBeTrue = sets.unite(both(a.canBeTrue, b.canBeTrue),
                              both(a.canBeFalse, b.canBeFalse));
  fact.canBeFalse = sets.unite(both(a.canBeTrue, b.canBeFalse),
                               both(a.canBeFalse, b.canBeTrue));
}

/// Where `lhs` can be below `rhs` as unsigned numbers, from where it can as
/// signed ones. The same if they have one sign; negative numbers are above.
KeySet RegionAnalysis::assumeUnsigned(const Operand &lhs, const Operand &rhs,
                                      const KeySet &ifSigned) {
  SymbolicFlag bothNegative =
      n.both(intervals.isNegative(lhs.range), intervals.isNegative(rhs.range));
  SymbolicFlag neitherNegative = n.both(intervals.isNonNegative(lhs.range),
                                        intervals.isNonNegative(rhs.range));
  SymbolicFlag never = n.both(intervals.isNegative(lhs.range),
                              intervals.isNonNegative(rhs.range));
  return sets.select(n.either(bothNegative, neitherNegative), ifSigned,
                     sets.when(n.negate(never)));
}

//===----------------------------------------------------------------------===//
// From bounds of values to keys
//===----------------------------------------------------------------------===//

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
      value.getType().isInteger(1) || depth == kMaxDepth)
    return sets.all();
  // Beyond what the value can be, bounds do not differ; but they may overflow.
  int64_t greatest = fact.range.high.greatest;
  bound = n.clamp(*bound, fact.range.low.least,
                  greatest == SymbolicNumber::kMax ? greatest : greatest + 1);
  ++depth;
  KeySet keys = findKeysOfOperand(op, side, *bound);
  --depth;
  return sets.select(fact.isExact, keys, sets.all());
}

KeySet RegionAnalysis::findKeysOfSum(Operation *op, Side side,
                                     const SymbolicNumber &bound) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (getFact(lhs).dependsOnKey)
    std::swap(lhs, rhs);
  if (getFact(lhs).dependsOnKey)
    return sets.all();
  SymbolicFlag isExact = true;
  IntegerInterval a =
      intervals.clamp(getRange(lhs), intervals.kMaxSummand, isExact);
  std::optional<SymbolicNumber> rest =
      n.subtract(bound, side == Side::Below ? a.low : a.high);
  return sets.select(isExact, findKeys(rhs, side, rest), sets.all());
}

KeySet RegionAnalysis::findKeysOfDifference(Operation *op, Side side,
                                            const SymbolicNumber &bound) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool isBelow = side == Side::Below, isNegated = getFact(rhs).dependsOnKey;
  if (isNegated && getFact(lhs).dependsOnKey)
    return sets.all();
  SymbolicFlag isExact = true;
  IntegerInterval a = intervals.clamp(getRange(isNegated ? lhs : rhs),
                                      intervals.kMaxSummand, isExact);
  KeySet keys = sets.all();
  if (isNegated) {
    std::optional<SymbolicNumber> rest =
        n.subtract(isBelow ? a.low : a.high, bound);
    keys = findKeys(rhs, isBelow ? Side::From : Side::Below,
                    rest ? n.add(*rest, 1) : std::nullopt);
  } else {
    keys = findKeys(lhs, side, n.add(bound, isBelow ? a.high : a.low));
  }
  return sets.select(isExact, keys, sets.all());
}

/// The number that an operation multiplies or divides by; 0 if there is none or
/// it may be less than 1.
static SymbolicNumber getFactor(const IntegerInterval &factor, bool isShift) {
  if (!factor.isPoint() || !factor.low.isConstant())
    return 0;
  int64_t constant = factor.low.least;
  if (!isShift)
    return std::max<int64_t>(constant, 0);
  return constant >= 0 && constant < 62 ? int64_t(1) << constant : 0;
}

/// Of `x and 2^k - 1` too, which is the remainder of a negative x as well if
/// that is rounded down.
KeySet RegionAnalysis::findKeysOfRemainder(Operation *op, Side side,
                                           const SymbolicNumber &bound) {
  Value lhs = op->getOperand(0);
  SymbolicNumber divisor =
      getFactor(getRange(op->getOperand(1)), /*isShift=*/false);
  IntegerInterval x = getRange(lhs);
  if (isa<arith::AndIOp, index::AndOp>(op)) {
    bool isMask = llvm::isMask_64(uint64_t(divisor.least));
    divisor =
        isMask && divisor.least < SymbolicNumber::kMax ? divisor.least + 1 : 0;
  } else if (x.low.least < 0) {
    return sets.all();
  }
  if (divisor.least < 1)
    return sets.all();
  SymbolicNumber period =
      n.floorDivide(side == Side::Below ? x.high : x.low, divisor);
  std::optional<SymbolicNumber> start = n.multiply(period, divisor);
  KeySet keys = findKeys(lhs, side, start ? n.add(*start, bound) : start);
  keys.hasGaps = !sets.isAll(keys);
  return keys;
}

KeySet RegionAnalysis::findKeysOfOperand(Operation *op, Side side,
                                         const SymbolicNumber &bound) {
  if (isa<arith::AddIOp, index::AddOp>(op))
    return findKeysOfSum(op, side, bound);
  if (isa<arith::SubIOp, index::SubOp>(op))
    return findKeysOfDifference(op, side, bound);

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

  if (isa<arith::MulIOp, index::MulOp, arith::ShLIOp, index::ShlOp>(op)) {
    SymbolicNumber factor = getFactor(getRange(op->getOperand(1)),
                                      isa<arith::ShLIOp, index::ShlOp>(op));
    if (factor.least > 0)
      return findKeys(lhs, side, n.ceilDivide(bound, factor));
    return sets.all();
  }

  if (isa<arith::RemSIOp, arith::RemUIOp, index::RemSOp, index::RemUOp,
          arith::AndIOp, index::AndOp>(op))
    return findKeysOfRemainder(op, side, bound);
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
  if (roundsDown || (roundsToZero && getRange(lhs).low.least >= 0)) {
    SymbolicNumber factor = getFactor(getRange(op->getOperand(1)), isShift);
    if (factor.least > 0)
      return findKeys(lhs, side, n.multiply(bound, factor));
  }
  return sets.all();
}

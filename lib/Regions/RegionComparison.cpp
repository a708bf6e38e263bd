//===- RegionComparison.cpp - Where integers of a region compare ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// `x < y` can hold only if low(x) < high(y), and only for keys for which
// `x < high(y)` and `y > low(x)` can: RegionTracing.cpp finds those.
//

#include "lib/Regions/RegionAnalysis.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;
using namespace mlir::attn;

using arith::CmpIPredicate;

/// A key is moved by this many operations at most.
static constexpr unsigned kMaxMoves = 16;

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
  for (unsigned step = 0; value && step < kMaxMoves; ++step) {
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
  numTraced = 0;
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
  numTraced = 0;
  if (lhs.value && lhs.value == rhs.value)
    return sets.all();
  KeySet keys = findKeys(rhs.value, Side::From, lhs.range.low);
  int64_t greatest = lhs.range.high.greatest;
  SymbolicNumber bound = rhs.range.high;
  if (greatest < SymbolicNumber::kMax ||
      bound.greatest < SymbolicNumber::kMax) {
    // Above what the left side can be, bounds do not differ.
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

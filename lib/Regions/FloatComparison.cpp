//===- FloatComparison.cpp - Where floats of a region compare -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// With a constant, a float that rises or falls with an integer compares as the
// integer does with two thresholds: up to where the comparison may be true, and
// from where it may be false, or the other way round. Between both, where
// rounding decides, it may be either. So it may be where the float is not
// defined. Rounded to an integer, it is between what it is at both ends. Other
// floats compare by their intervals.
//

#include "lib/Regions/MonotoneFloat.h"
#include "lib/Regions/RegionAnalysis.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

using arith::CmpFPredicate;

namespace {

/// `float < limit`, or `float <= limit`; or that it is not.
struct Limit {
  double limit;
  bool isInclusive;
  bool isNegated;

  bool mayBeBelow(FloatRange range) const {
    return isInclusive ? range.low <= limit : range.low < limit;
  }
  bool mayBeAbove(FloatRange range) const {
    return isInclusive ? range.high > limit : range.high >= limit;
  }
};

} // namespace

/// What a predicate says of its operands, if it is about their order. NaN,
/// which decides between ordered and unordered predicates, is no matter here.
static std::optional<Limit> getLimit(CmpFPredicate predicate, double limit) {
  switch (predicate) {
  case CmpFPredicate::OLT:
  case CmpFPredicate::ULT:
    return Limit{limit, false, false};
  case CmpFPredicate::OLE:
  case CmpFPredicate::ULE:
    return Limit{limit, true, false};
  case CmpFPredicate::OGE:
  case CmpFPredicate::UGE:
    return Limit{limit, false, true};
  case CmpFPredicate::OGT:
  case CmpFPredicate::UGT:
    return Limit{limit, true, true};
  default:
    return std::nullopt;
  }
}

void RegionAnalysis::evaluateCompare(arith::CmpFOp op) {
  if (evaluateThreshold(op))
    return;
  auto [canBeTrue, canBeFalse] = floats.compare(
      op.getPredicate(), getFact(op.getLhs()).real, getFact(op.getRhs()).real);
  RegionFact &fact = facts[op.getResult()];
  fact.canBeTrue = sets.when(canBeTrue);
  fact.canBeFalse = sets.when(canBeFalse);
}

bool RegionAnalysis::evaluateThreshold(arith::CmpFOp op) {
  Value compared = op.getLhs(), other = op.getRhs();
  bool isSwapped = matchPattern(compared, m_Constant());
  if (isSwapped)
    std::swap(compared, other);
  FloatAttr constant;
  if (!matchPattern(other, m_Constant(&constant)) ||
      constant.getValue().isNaN())
    return false;
  auto limit = getLimit(op.getPredicate(), constant.getValueAsDouble());
  auto number = MonotoneFloat::match(compared);
  if (!limit || !number || number->getRoot().getType().isInteger(1))
    return false;
  if (isSwapped) { // limit < x is not x <= limit, and so on.
    limit->isInclusive = !limit->isInclusive;
    limit->isNegated = !limit->isNegated;
  }

  constexpr int64_t kMost = int64_t(1) << 62;
  Operand root = getOperand(number->getRoot());
  int64_t least = root.range.low.least, greatest = root.range.high.greatest;
  if (least < (number->isOfUnsigned() ? 0 : -kMost) || greatest > kMost)
    return false;
  auto domain = number->findDomain(least, greatest);
  if (!domain)
    return false;
  // Where the root is below a threshold, or from it on; and where the number is
  // not defined.
  auto findRoots = [&](bool isBelow, auto mayBe) {
    auto [low, high] = *domain;
    auto isAt = [&](int64_t x) { return mayBe(*number->evaluate(x)); };
    int64_t threshold =
        findFirst(low, high, [&](int64_t x) { return isAt(x) != isBelow; });
    KeySet keys =
        isBelow ? canBeLess(root, threshold) : canBeAtMost(threshold, root);
    if (!isBelow && low > least)
      keys = sets.unite(keys, canBeLess(root, low));
    if (isBelow && high < greatest)
      keys = sets.unite(keys, canBeLess(high, root));
    return keys;
  };
  RegionFact &fact = facts[op.getResult()];
  fact.canBeTrue = findRoots(number->rises(), [&](FloatRange range) {
    return limit->mayBeBelow(range);
  });
  fact.canBeFalse = findRoots(!number->rises(), [&](FloatRange range) {
    return limit->mayBeAbove(range);
  });
  if (limit->isNegated)
    std::swap(fact.canBeTrue, fact.canBeFalse);
  return true;
}

/// The interval of a float that is rounded to an integer, where it rises or
/// falls with an integer and surely fits.
std::optional<IntegerInterval> RegionAnalysis::findTruncated(Operation *op) {
  auto number = MonotoneFloat::match(op->getOperand(0));
  if (!number || number->getRoot().getType().isInteger(1))
    return std::nullopt;
  IntegerInterval root = getRange(number->getRoot());
  if (number->isOfUnsigned() && root.low.least < 0)
    return std::nullopt;
  auto first = number->evaluate(root.low.least);
  auto last = number->evaluate(root.high.greatest);
  if (!first || !last)
    return std::nullopt;
  if (!number->rises())
    std::swap(first, last);
  double low = std::trunc(first->low), high = std::trunc(last->high);
  unsigned width = getIntegerWidth(op->getResult(0).getType());
  bool isSigned = isa<arith::FPToSIOp>(op);
  // What is positive as a signed integer too, and less than half of i64's.
  double limit = std::ldexp(1, std::min(int(width) - 1, 62));
  if (!(low >= (isSigned ? -limit : 0) && high < limit))
    return std::nullopt;
  return IntegerInterval(SymbolicNumber(int64_t(low)),
                         SymbolicNumber(int64_t(high)));
}

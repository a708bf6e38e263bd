//===- Softmax.cpp - The softmax of an attention --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// An element of what a loop over keys reduces.
struct Reduction {
  enum class Kind { maximum, maxnum, sum, conjunction } kind;
  Term input, init;
};

class SoftmaxMatcher {
public:
  SoftmaxMatcher(Terms &terms, const AxisList &keys, std::string &reason)
      : terms(terms), keys(keys), reason(reason) {}

  std::optional<Term> match(const Term &weight);

private:
  std::optional<Reduction> matchReduction(const Term &term);
  std::optional<Term> matchNamed(const Term &weight);
  std::optional<Term> matchQuotient(const Term &weight);
  std::optional<Term> matchLogarithm(const Term &weight);
  std::optional<Term> matchExponential(const Term &exponential);
  std::optional<Term> matchDifference(const Term &exponent);
  std::optional<Term> matchSum(const Term &sum);
  std::optional<Term> matchLogOfSum(const Term &logarithm);
  bool isSum(const Term &sum, const Term &terms);
  bool isReciprocalOfSum(const Term &reciprocal, const Term &terms);
  bool isMaximum(const Term &maximum, const Term &scores);
  bool isWithoutKeys(const Term &condition, const Term &scores);
  bool isSame(const Term &a, const Term &b) {
    return terms.isEqual(terms.enterCasts(a), terms.enterCasts(b));
  }

  Terms &terms;
  AxisList keys;
  std::string &reason;
};

} // namespace

/// What a loop does with the value so far and another, or nothing if that is
/// not known; `left` and `right` are both.
static std::optional<Reduction::Kind> matchCombiner(Operation *op, Value &left,
                                                    Value &right) {
  using Kind = Reduction::Kind;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    // The larger of two, and one of them where they are not compared.
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare)
      return std::nullopt;
    left = select.getTrueValue(), right = select.getFalseValue();
    using Predicate = arith::CmpFPredicate;
    Predicate predicate = compare.getPredicate();
    bool isGreater = predicate == Predicate::OGT || predicate == Predicate::OGE;
    bool isLess = predicate == Predicate::OLT || predicate == Predicate::OLE;
    if ((isGreater && compare.getLhs() == left && compare.getRhs() == right) ||
        (isLess && compare.getLhs() == right && compare.getRhs() == left))
      return Kind::maximum;
    return std::nullopt;
  }
  std::optional<Kind> kind =
      TypeSwitch<Operation *, std::optional<Kind>>(op)
          .Case<arith::MaximumFOp>([](auto) { return Kind::maximum; })
          .Case<arith::MaxNumFOp>([](auto) { return Kind::maxnum; })
          .Case<arith::AddFOp>([](auto) { return Kind::sum; })
          .Case<arith::AndIOp>([](auto) { return Kind::conjunction; })
          .Default(std::nullopt);
  if (kind)
    left = op->getOperand(0), right = op->getOperand(1);
  return kind;
}

std::optional<Reduction> SoftmaxMatcher::matchReduction(const Term &term) {
  Term element = terms.enterCasts(term);
  if (!element.isElement())
    return std::nullopt;
  auto op =
      dyn_cast_if_present<linalg::LinalgOp>(element.value.getDefiningOp());
  if (!op || !op.hasPureTensorSemantics() || op.getNumReductionLoops() != 1 ||
      !hasSimpleMaps(op))
    return std::nullopt;
  auto result = cast<OpResult>(element.value);
  const Frame *frame = terms.getFrame(result, element.dims, keys);
  if (!frame)
    return std::nullopt;
  unsigned number = result.getResultNumber();
  OpOperand &init = *op.getDpsInitOperand(number);
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(number).getDefiningOp();
  if (!combiner || combiner->getBlock() != op.getBlock())
    return std::nullopt;
  Value soFar = op.getMatchingBlockArgument(&init), left, right;
  std::optional<Reduction::Kind> kind = matchCombiner(combiner, left, right);
  if (!kind || (left == soFar) == (right == soFar))
    return std::nullopt;
  terms.visit(op);
  return Reduction{*kind,
                   {left == soFar ? right : left, {}, frame},
                   terms.getElement(frame, init)};
}

/// linalg.softmax.
std::optional<Term> SoftmaxMatcher::matchNamed(const Term &weight) {
  auto softmax =
      dyn_cast_if_present<linalg::SoftmaxOp>(weight.value.getDefiningOp());
  if (!softmax || !softmax.hasPureTensorSemantics())
    return std::nullopt;
  if (!terms.axes.isEqual(weight.dims[softmax.getDimension()], keys)) {
    reason = "its softmax is not over the keys";
    return std::nullopt;
  }
  terms.visit(softmax);
  return Term{softmax.getInput(), weight.dims};
}

/// What a sum over keys is of.
std::optional<Term> SoftmaxMatcher::matchSum(const Term &sum) {
  std::optional<Reduction> reduction = matchReduction(sum);
  if (!reduction || reduction->kind != Reduction::Kind::sum)
    return std::nullopt;
  std::optional<llvm::APFloat> init = terms.getFloat(reduction->init);
  if (!init || !init->isZero())
    return std::nullopt;
  return reduction->input;
}

bool SoftmaxMatcher::isSum(const Term &sum, const Term &exponential) {
  std::optional<Term> input = matchSum(sum);
  return input && isSame(*input, exponential);
}

/// What a logarithm of a sum over keys is the sum of the exponentials of.
std::optional<Term> SoftmaxMatcher::matchLogOfSum(const Term &logarithm) {
  Term term = terms.enterCasts(logarithm);
  if (!isa_and_present<math::LogOp>(term.getScalarOp()))
    return std::nullopt;
  std::optional<Term> input = matchSum(term.getOperand(0));
  if (!input)
    return std::nullopt;
  Term exponential = terms.enterCasts(*input);
  if (!isa_and_present<math::ExpOp>(exponential.getScalarOp()))
    return std::nullopt;
  return exponential.getOperand(0);
}

bool SoftmaxMatcher::isReciprocalOfSum(const Term &reciprocal,
                                       const Term &exponential) {
  Term term = terms.enterCasts(reciprocal);
  if (!isa_and_present<arith::DivFOp>(term.getScalarOp()))
    return false;
  std::optional<llvm::APFloat> one = terms.getFloat(term.getOperand(0));
  return one && one->isExactlyValue(1.0) &&
         isSum(term.getOperand(1), exponential);
}

bool SoftmaxMatcher::isMaximum(const Term &maximum, const Term &scores) {
  auto isLeast = [&](const Term &term) {
    std::optional<llvm::APFloat> constant = terms.getFloat(term);
    return constant && constant->isNegative() &&
           (constant->isInfinity() || constant->isLargest());
  };
  Term term = terms.enterCasts(maximum);
  while (isa_and_present<arith::MaximumFOp, arith::MaxNumFOp>(
      term.getScalarOp())) {
    bool isFirst = isLeast(term.getOperand(0));
    if (!isFirst && !isLeast(term.getOperand(1)))
      return false;
    term = terms.enterCasts(term.getOperand(isFirst ? 1 : 0));
  }
  std::optional<Reduction> reduction = matchReduction(term);
  using Kind = Reduction::Kind;
  if (!reduction ||
      (reduction->kind != Kind::maximum && reduction->kind != Kind::maxnum))
    return false;
  std::optional<llvm::APFloat> init = terms.getFloat(reduction->init);
  bool isInit = isLeast(reduction->init) ||
                (init && init->isNaN() && reduction->kind == Kind::maxnum);
  return isInit && isSame(reduction->input, scores);
}

/// The scores, of scores less their maximum.
std::optional<Term> SoftmaxMatcher::matchDifference(const Term &exponent) {
  Term difference = terms.enterCasts(exponent);
  if (!isa_and_present<arith::SubFOp>(difference.getScalarOp()) ||
      !isMaximum(difference.getOperand(1), difference.getOperand(0)))
    return std::nullopt;
  return difference.getOperand(0);
}

std::optional<Term> SoftmaxMatcher::matchExponential(const Term &exponential) {
  std::optional<Term> scores = matchDifference(exponential.getOperand(0));
  if (!scores)
    reason = "the exponents of its softmax are not scores less their maximum";
  return scores;
}

/// exp(s - max - log(sum(exp(s - max)))), or exp(s - (log(...) + max)).
std::optional<Term> SoftmaxMatcher::matchLogarithm(const Term &weight) {
  if (!isa_and_present<math::ExpOp>(weight.getScalarOp()))
    return std::nullopt;
  Term exponent = terms.enterCasts(weight.getOperand(0));
  if (!isa_and_present<arith::SubFOp>(exponent.getScalarOp()))
    return std::nullopt;
  Term minuend = exponent.getOperand(0), subtrahend = exponent.getOperand(1);
  if (std::optional<Term> summed = matchLogOfSum(subtrahend))
    return isSame(*summed, minuend) ? matchDifference(minuend) : std::nullopt;
  Term sum = terms.enterCasts(subtrahend);
  if (isa_and_present<arith::AddFOp>(sum.getScalarOp()))
    for (unsigned number : {0, 1}) {
      std::optional<Term> summed = matchLogOfSum(sum.getOperand(number));
      std::optional<Term> scores =
          summed ? matchDifference(*summed) : std::nullopt;
      if (scores && isSame(*scores, minuend) &&
          isMaximum(sum.getOperand(1 - number), minuend))
        return minuend;
    }
  if (matchDifference(exponent))
    reason = "its weights are not divided by their sum before the product with "
             "values";
  return std::nullopt;
}

/// exp(s - max) / sum(exp(s - max)), or with a reciprocal.
std::optional<Term> SoftmaxMatcher::matchQuotient(const Term &weight) {
  bool isDivision = isa_and_present<arith::DivFOp>(weight.getScalarOp());
  if (!isDivision && !isa_and_present<arith::MulFOp>(weight.getScalarOp()))
    return std::nullopt;
  for (unsigned number : {0, 1}) {
    Term exponential = terms.enterCasts(weight.getOperand(number));
    Term other = weight.getOperand(1 - number);
    if (!isa_and_present<math::ExpOp>(exponential.getScalarOp()))
      continue;
    if (isDivision ? number == 0 && isSum(other, exponential)
                   : isReciprocalOfSum(other, exponential))
      return matchExponential(exponential);
  }
  return std::nullopt;
}

/// Whether a condition says that all scores of a row are -inf.
bool SoftmaxMatcher::isWithoutKeys(const Term &condition, const Term &scores) {
  std::optional<Reduction> reduction = matchReduction(condition);
  if (!reduction || reduction->kind != Reduction::Kind::conjunction)
    return false;
  auto init =
      dyn_cast_if_present<IntegerAttr>(terms.getConstant(reduction->init));
  Term equal = terms.enter(reduction->input);
  auto compare = equal.getScalarOp<arith::CmpFOp>();
  if (!init || !init.getValue().isAllOnes() || !compare ||
      compare.getPredicate() != arith::CmpFPredicate::OEQ)
    return false;
  std::optional<llvm::APFloat> bound = terms.getFloat(equal.getOperand(1));
  return bound && bound->isInfinity() && bound->isNegative() &&
         isSame(equal.getOperand(0), scores);
}

std::optional<Term> SoftmaxMatcher::match(const Term &weight) {
  Term term = terms.enterCasts(weight);
  auto matchPlain = [&](const Term &plain) {
    if (plain.isElement())
      return matchNamed(plain);
    std::optional<Term> scores = matchQuotient(plain);
    return scores || !reason.empty() ? scores : matchLogarithm(plain);
  };
  if (!isa_and_present<arith::SelectOp>(term.getScalarOp()))
    return matchPlain(term);
  // 0 where all scores of a row are -inf, else a softmax.
  std::optional<llvm::APFloat> zero = terms.getFloat(term.getOperand(1));
  if (!zero || !zero->isZero())
    return std::nullopt;
  std::optional<Term> scores = matchPlain(terms.enterCasts(term.getOperand(2)));
  if (!scores || isWithoutKeys(term.getOperand(0), *scores))
    return scores;
  reason =
      "its weights are 0 by another condition than that all scores of a row "
      "are -inf";
  return std::nullopt;
}

std::optional<Term> attn::matchSoftmax(Terms &terms, const Term &weight,
                                       const AxisList &keys,
                                       std::string &reason) {
  return SoftmaxMatcher(terms, keys, reason).match(weight);
}

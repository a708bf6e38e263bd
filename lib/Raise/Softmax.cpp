//===- Softmax.cpp - The softmax of an attention --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// An element of what a loop over keys reduces.
struct Reduction {
  Operation *combiner;
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
  std::optional<Term> matchExponential(const Term &exponential);
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
  if (!combiner || combiner->getBlock() != op.getBlock() ||
      combiner->getNumOperands() != 2)
    return std::nullopt;
  Value soFar = op.getMatchingBlockArgument(&init);
  Value left = combiner->getOperand(0), right = combiner->getOperand(1);
  if ((left == soFar) == (right == soFar))
    return std::nullopt;
  terms.visit(op);
  return Reduction{combiner,
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

bool SoftmaxMatcher::isSum(const Term &sum, const Term &exponential) {
  std::optional<Reduction> reduction = matchReduction(sum);
  if (!reduction || !isa<arith::AddFOp>(reduction->combiner))
    return false;
  std::optional<llvm::APFloat> init = terms.getFloat(reduction->init);
  return init && init->isZero() && isSame(reduction->input, exponential);
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
  if (!reduction ||
      !isa<arith::MaximumFOp, arith::MaxNumFOp>(reduction->combiner))
    return false;
  std::optional<llvm::APFloat> init = terms.getFloat(reduction->init);
  bool isInit =
      isLeast(reduction->init) ||
      (init && init->isNaN() && isa<arith::MaxNumFOp>(reduction->combiner));
  return isInit && isSame(reduction->input, scores);
}

std::optional<Term> SoftmaxMatcher::matchExponential(const Term &exponential) {
  Term difference = terms.enterCasts(exponential.getOperand(0));
  if (!isa_and_present<arith::SubFOp>(difference.getScalarOp()) ||
      !isMaximum(difference.getOperand(1), difference.getOperand(0))) {
    reason = "the exponents of its softmax are not scores less their maximum";
    return std::nullopt;
  }
  return difference.getOperand(0);
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
  if (!reduction || !isa<arith::AndIOp>(reduction->combiner))
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
    return plain.isElement() ? matchNamed(plain) : matchQuotient(plain);
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

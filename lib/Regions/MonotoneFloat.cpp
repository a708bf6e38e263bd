//===- MonotoneFloat.cpp - Floats that rise or fall with an integer -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/MonotoneFloat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// A finite constant.
static std::optional<double> matchConstant(Value value) {
  FloatAttr attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  double constant = attribute.getValueAsDouble();
  if (!std::isfinite(constant))
    return std::nullopt;
  return constant;
}

/// Says that what comes next is defined where its operand is large.
bool MonotoneFloat::restrict() {
  if (isDefinedAbove && *isDefinedAbove != isRising)
    return false; // Defined between two integers.
  isDefinedAbove = isRising;
  return true;
}

/// Adds an operation on what was added before it, which is `operand`. False if
/// the result does not rise or fall with it.
bool MonotoneFloat::append(Operation *op, Value operand) {
  Step step{op, 0, false};
  if (op->getNumOperands() == 2) {
    step.isFirst = op->getOperand(1) == operand;
    std::optional<double> constant =
        matchConstant(op->getOperand(step.isFirst ? 0 : 1));
    if (!constant)
      return false;
    step.constant = *constant;
  }
  bool isNegative = step.constant < 0;
  auto scale = [&] {
    isRising ^= isNegative;
    return step.constant != 0;
  };
  bool isMonotone =
      TypeSwitch<Operation *, bool>(op)
          .Case<arith::AddFOp, arith::MaximumFOp, arith::MinimumFOp,
                arith::MaxNumFOp, arith::MinNumFOp, arith::ExtFOp,
                arith::TruncFOp, math::ExpOp, math::Exp2Op, math::ExpM1Op,
                math::CbrtOp, math::TanhOp, math::ErfOp, math::AtanOp,
                math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
                math::TruncOp>([](auto) { return true; })
          .Case<arith::SubFOp>([&](auto) {
            isRising ^= step.isFirst;
            return true;
          })
          .Case<arith::NegFOp>([&](auto) {
            isRising = !isRising;
            return true;
          })
          .Case<arith::MulFOp>([&](auto) { return scale(); })
          .Case<arith::DivFOp>([&](auto) {
            if (step.isFirst) {
              if (!restrict())
                return false;
              isRising = !isRising;
            }
            return scale();
          })
          .Case<math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp,
                math::SqrtOp>([&](auto) { return restrict(); })
          .Case<math::RsqrtOp>([&](auto) {
            if (!restrict())
              return false;
            isRising = !isRising;
            return true;
          })
          .Default([](Operation *) { return false; });
  steps.push_back(step);
  return isMonotone;
}

std::optional<MonotoneFloat> MonotoneFloat::match(Value value) {
  SmallVector<std::pair<Operation *, Value>> operations;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumResults() != 1 || !value.getType().isFloat())
      return std::nullopt;
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
      MonotoneFloat result(op->getOperand(0));
      result.steps.push_back({op, 0, false});
      for (auto [operation, operand] : llvm::reverse(operations))
        if (!result.append(operation, operand))
          return std::nullopt;
      return result;
    }
    if (op->getNumOperands() != 1 && op->getNumOperands() != 2)
      return std::nullopt;
    Value operand = op->getOperand(0);
    if (op->getNumOperands() == 2 && matchConstant(operand))
      operand = op->getOperand(1);
    operations.emplace_back(op, operand);
    value = operand;
  }
  return std::nullopt;
}

bool MonotoneFloat::isOfUnsigned() const {
  return isa<arith::UIToFPOp>(steps.front().op);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// With what a result of the type may differ from the exact one: many times the
/// error that functions are held to, and what is lost below the normal numbers.
static FloatRange widen(FloatRange range, Type type) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  double relative =
             std::ldexp(16, -int(APFloat::semanticsPrecision(semantics))),
         absolute =
             16 * APFloat::getSmallestNormalized(semantics).convertToDouble(),
         largest = APFloat::getLargest(semantics).convertToDouble();
  double low = range.low, high = range.high;
  if (std::isfinite(low))
    low -= std::abs(low) * relative + absolute;
  if (std::isfinite(high))
    high += std::abs(high) * relative + absolute;
  // What is beyond the largest number may become an infinity, or not.
  return {low < -largest ? -kInfinity : std::min(low, largest),
          high > largest ? kInfinity : std::max(high, -largest)};
}

/// Whether an operation is defined for all of its operand's range.
static bool isDefined(Operation *op, bool isDivisor, FloatRange operand) {
  if (isDivisor ||
      isa<math::LogOp, math::Log2Op, math::Log10Op, math::RsqrtOp>(op))
    return operand.low > 0;
  if (isa<math::Log1pOp>(op))
    return operand.low > -1;
  return !isa<math::SqrtOp>(op) || operand.low >= 0;
}

/// An operation of `x` and the constant `c`, which comes first if `isReversed`.
static double compute(Operation *op, double x, double c, bool isReversed) {
  return TypeSwitch<Operation *, double>(op)
      .Case<arith::AddFOp>([&](auto) { return x + c; })
      .Case<arith::SubFOp>([&](auto) { return isReversed ? c - x : x - c; })
      .Case<arith::MulFOp>([&](auto) { return x * c; })
      .Case<arith::DivFOp>([&](auto) { return isReversed ? c / x : x / c; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return std::max(x, c); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return std::min(x, c); })
      .Case<arith::NegFOp>([&](auto) { return -x; })
      .Case<math::AtanOp>([&](auto) { return std::atan(x); })
      .Case<math::CbrtOp>([&](auto) { return std::cbrt(x); })
      .Case<math::CeilOp>([&](auto) { return std::ceil(x); })
      .Case<math::ErfOp>([&](auto) { return std::erf(x); })
      .Case<math::Exp2Op>([&](auto) { return std::exp2(x); })
      .Case<math::ExpM1Op>([&](auto) { return std::expm1(x); })
      .Case<math::ExpOp>([&](auto) { return std::exp(x); })
      .Case<math::FloorOp>([&](auto) { return std::floor(x); })
      .Case<math::Log10Op>([&](auto) { return std::log10(x); })
      .Case<math::Log1pOp>([&](auto) { return std::log1p(x); })
      .Case<math::Log2Op>([&](auto) { return std::log2(x); })
      .Case<math::LogOp>([&](auto) { return std::log(x); })
      .Case<math::RoundOp>([&](auto) { return std::round(x); })
      .Case<math::RoundEvenOp>([&](auto) { return std::nearbyint(x); })
      .Case<math::RsqrtOp>([&](auto) { return 1 / std::sqrt(x); })
      .Case<math::SqrtOp>([&](auto) { return std::sqrt(x); })
      .Case<math::TanhOp>([&](auto) { return std::tanh(x); })
      .Case<math::TruncOp>([&](auto) { return std::trunc(x); })
      .Default([&](Operation *) { return x; }); // Conversions.
}

std::optional<FloatRange> MonotoneFloat::evaluate(int64_t integer) const {
  FloatRange x{double(integer), double(integer)};
  for (const Step &step : steps) {
    if (!isDefined(step.op, step.isFirst && isa<arith::DivFOp>(step.op), x))
      return std::nullopt;
    double first = compute(step.op, x.low, step.constant, step.isFirst),
           second = compute(step.op, x.high, step.constant, step.isFirst);
    x = {std::min(first, second), std::max(first, second)};
    // Integers of few digits are converted as they are.
    bool isExact = &step == steps.begin() && std::abs(x.low) <= 128;
    if (!isExact)
      x = widen(x, step.op->getResult(0).getType());
  }
  return x;
}

int64_t mlir::attn::findFirst(int64_t low, int64_t high,
                              function_ref<bool(int64_t)> isTrue) {
  while (low <= high) {
    int64_t middle = low + (high - low) / 2;
    if (isTrue(middle))
      high = middle - 1;
    else
      low = middle + 1;
  }
  return low;
}

std::optional<std::pair<int64_t, int64_t>>
MonotoneFloat::findDomain(int64_t low, int64_t high) const {
  auto isDefined = [&](int64_t integer) { return bool(evaluate(integer)); };
  if (isDefinedAbove && *isDefinedAbove)
    low = findFirst(low, high, isDefined);
  else if (isDefinedAbove)
    high = findFirst(low, high, [&](int64_t x) { return !isDefined(x); }) - 1;
  if (low > high)
    return std::nullopt;
  return std::pair(low, high);
}

//===- FloatInterval.cpp - Between which numbers a float lies -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/FloatInterval.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

using arith::CmpFPredicate;

Value FloatIntervalArithmetic::constant(Type type, double number) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, number));
}

SymbolicFlag FloatIntervalArithmetic::is(CmpFPredicate predicate, Value lhs,
                                         Value rhs) {
  return n.read(b.createOrFold<arith::CmpFOp>(loc, predicate, lhs, rhs));
}

FloatInterval FloatIntervalArithmetic::point(Value number,
                                             const SymbolicFlag &isThere) {
  return between(number, number, isThere);
}

FloatInterval FloatIntervalArithmetic::between(Value low, Value high,
                                               const SymbolicFlag &isKnown) {
  return {low, high, n.both(isKnown, is(CmpFPredicate::OLE, low, high))};
}

FloatInterval FloatIntervalArithmetic::hull(const FloatInterval &lhs,
                                            const FloatInterval &rhs) {
  if (!lhs || !rhs)
    return {};
  return {emit<arith::MinimumFOp>(lhs.low, rhs.low),
          emit<arith::MaximumFOp>(lhs.high, rhs.high),
          n.both(lhs.isKnown, rhs.isKnown)};
}

SymbolicFlag
FloatIntervalArithmetic::areFinite(ArrayRef<FloatInterval> intervals) {
  SymbolicFlag all = true;
  for (const FloatInterval &interval : intervals) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Type type = interval.low.getType();
    all = n.both(all, n.both(interval.isKnown,
                             n.both(is(CmpFPredicate::OGT, interval.low,
                                       constant(type, -infinity)),
                                    is(CmpFPredicate::OLT, interval.high,
                                       constant(type, infinity)))));
  }
  return all;
}

/// By some units in the last place, and by what is lost to subnormal numbers.
FloatInterval FloatIntervalArithmetic::widen(const FloatInterval &interval) {
  auto type = cast<FloatType>(interval.low.getType());
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  double share =
      std::ldexp(1.0, 4 - int(APFloat::semanticsPrecision(semantics)));
  APFloat least = APFloat::getSmallestNormalized(semantics);
  auto margin = [&](Value bound) {
    Value size = b.createOrFold<math::AbsFOp>(loc, bound);
    return emit<arith::AddFOp>(
        emit<arith::MulFOp>(size, constant(type, share)),
        arith::ConstantOp::create(b, loc, b.getFloatAttr(type, least)));
  };
  return between(emit<arith::SubFOp>(interval.low, margin(interval.low)),
                 emit<arith::AddFOp>(interval.high, margin(interval.high)),
                 interval.isKnown);
}

/// Of a product or a quotient, whose extremes are where both operands' are.
FloatInterval
FloatIntervalArithmetic::scale(const FloatInterval &lhs,
                               const FloatInterval &rhs,
                               function_ref<Value(Value, Value)> combine) {
  Value low, high;
  for (Value x : {lhs.low, lhs.high})
    for (Value y : {rhs.low, rhs.high}) {
      Value corner = combine(x, y);
      low = low ? emit<arith::MinimumFOp>(low, corner) : corner;
      high = high ? emit<arith::MaximumFOp>(high, corner) : corner;
    }
  return between(low, high, areFinite({lhs, rhs}));
}

FloatInterval
FloatIntervalArithmetic::evaluate(Operation *op,
                                  ArrayRef<FloatInterval> operands) {
  if (llvm::any_of(operands, [](const FloatInterval &x) { return !x; }))
    return {};
  auto sum = [&](Value low, Value high) {
    return widen(between(low, high, areFinite(operands)));
  };
  if (isa<arith::AddFOp>(op))
    return sum(emit<arith::AddFOp>(operands[0].low, operands[1].low),
               emit<arith::AddFOp>(operands[0].high, operands[1].high));
  if (isa<arith::SubFOp>(op))
    return sum(emit<arith::SubFOp>(operands[0].low, operands[1].high),
               emit<arith::SubFOp>(operands[0].high, operands[1].low));
  if (isa<arith::MulFOp>(op))
    return widen(scale(operands[0], operands[1], [&](Value x, Value y) {
      return emit<arith::MulFOp>(x, y);
    }));
  if (isa<arith::DivFOp>(op)) {
    FloatInterval quotient =
        scale(operands[0], operands[1],
              [&](Value x, Value y) { return emit<arith::DivFOp>(x, y); });
    Value zero = constant(operands[1].low.getType(), 0);
    SymbolicFlag hasSign =
        n.either(is(CmpFPredicate::OGT, operands[1].low, zero),
                 is(CmpFPredicate::OLT, operands[1].high, zero));
    quotient.isKnown = n.both(quotient.isKnown, hasSign);
    return widen(quotient);
  }
  if (isa<arith::NegFOp>(op))
    return {b.createOrFold<arith::NegFOp>(loc, operands[0].high),
            b.createOrFold<arith::NegFOp>(loc, operands[0].low),
            operands[0].isKnown};
  if (isa<math::AbsFOp>(op)) {
    auto [low, high, isKnown] = operands[0];
    Value negated = b.createOrFold<arith::NegFOp>(loc, high),
          zero = constant(low.getType(), 0);
    return {
        emit<arith::MaximumFOp>(emit<arith::MaximumFOp>(low, negated), zero),
        emit<arith::MaximumFOp>(b.createOrFold<arith::NegFOp>(loc, low), high),
        isKnown};
  }
  // What rises.
  if (isa<arith::MinimumFOp, arith::MaximumFOp, arith::MinNumFOp,
          arith::MaxNumFOp, arith::ExtFOp, arith::TruncFOp, math::FloorOp,
          math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(op)) {
    SymbolicFlag isKnown = true;
    SmallVector<Value> lows, highs;
    for (const FloatInterval &operand : operands) {
      isKnown = n.both(isKnown, operand.isKnown);
      lows.push_back(operand.low);
      highs.push_back(operand.high);
    }
    auto emitAt = [&](ValueRange at) -> Value {
      Operation *copy = b.clone(*op);
      copy->setOperands(at);
      copy->setLoc(loc);
      SmallVector<Value> folded;
      if (succeeded(b.tryFold(copy, folded)) && !folded.empty()) {
        copy->erase();
        return folded.front();
      }
      return copy->getResult(0);
    };
    FloatInterval result = {emitAt(lows), emitAt(highs), isKnown};
    return isa<arith::TruncFOp>(op) ? widen(result) : result;
  }
  return {};
}

FloatInterval FloatIntervalArithmetic::convert(Type type,
                                               const IntegerInterval &integer) {
  auto toFloat = [&](const SymbolicNumber &number) {
    Value wide = b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(),
                                                    n.toIndex(number));
    return b.createOrFold<arith::SIToFPOp>(loc, type, wide);
  };
  return widen({toFloat(integer.low), toFloat(integer.high), true});
}

FloatIntervalArithmetic::Comparison
FloatIntervalArithmetic::compare(CmpFPredicate predicate,
                                 const FloatInterval &lhs,
                                 const FloatInterval &rhs) {
  if (!lhs || !rhs)
    return {};
  SymbolicFlag unknown = n.negate(n.both(lhs.isKnown, rhs.isKnown));
  auto may = [&](CmpFPredicate order, Value x, Value y) {
    return n.either(unknown, is(order, x, y));
  };
  switch (predicate) {
  case CmpFPredicate::OLT:
  case CmpFPredicate::ULT:
    return {may(CmpFPredicate::OLT, lhs.low, rhs.high),
            may(CmpFPredicate::OGE, lhs.high, rhs.low)};
  case CmpFPredicate::OLE:
  case CmpFPredicate::ULE:
    return {may(CmpFPredicate::OLE, lhs.low, rhs.high),
            may(CmpFPredicate::OGT, lhs.high, rhs.low)};
  case CmpFPredicate::OGT:
  case CmpFPredicate::UGT:
  case CmpFPredicate::OGE:
  case CmpFPredicate::UGE: {
    bool isStrict =
        predicate == CmpFPredicate::OGT || predicate == CmpFPredicate::UGT;
    return compare(isStrict ? CmpFPredicate::OLT : CmpFPredicate::OLE, rhs,
                   lhs);
  }
  case CmpFPredicate::OEQ:
  case CmpFPredicate::UEQ:
  case CmpFPredicate::ONE:
  case CmpFPredicate::UNE: {
    SymbolicFlag canBeEqual =
        n.both(may(CmpFPredicate::OLE, lhs.low, rhs.high),
               may(CmpFPredicate::OLE, rhs.low, lhs.high));
    SymbolicFlag arePoints = n.both(is(CmpFPredicate::OEQ, lhs.low, rhs.high),
                                    is(CmpFPredicate::OEQ, lhs.high, rhs.low));
    SymbolicFlag canDiffer = n.either(unknown, n.negate(arePoints));
    bool isEquality =
        predicate == CmpFPredicate::OEQ || predicate == CmpFPredicate::UEQ;
    return isEquality ? Comparison{canBeEqual, canDiffer}
                      : Comparison{canDiffer, canBeEqual};
  }
  case CmpFPredicate::ORD:
    return {true, unknown};
  case CmpFPredicate::UNO:
    return {unknown, true};
  case CmpFPredicate::AlwaysTrue:
    return {true, false};
  case CmpFPredicate::AlwaysFalse:
    return {false, true};
  }
  return {};
}

//===- RegionIntegers.cpp - Integer operations of a region ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Which rule of IntegerInterval.cpp an operation takes; the others may yield
// any number. And where one has no result though its operands do:
//
//   division          the divisor can be 0, or the quotient not fit
//   shift             the amount can be the width or more
//   ipowi             the base can be 0 and the exponent negative
//   float to integer  everywhere, as nothing is known of floats
//   poison            everywhere
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/RegionAnalysis.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

using Rounding = IntervalArithmetic::Rounding;

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

void RegionAnalysis::evaluateInteger(Operation *op) {
  Type type = op->getResult(0).getType();
  unsigned width = getIntegerWidth(type);
  auto range = [&](unsigned index) { return getRange(op->getOperand(index)); };
  auto operandWidth = [&] {
    return getIntegerWidth(op->getOperand(0).getType());
  };
  auto unknown = [&] {
    return IntervalResult{IntegerInterval::ofWidth(width), false};
  };
  auto divide = [&](Rounding rounding, bool isSigned) {
    return intervals.divide(range(0), range(1), width, rounding, isSigned);
  };
  using Result = IntervalResult;
  Result result =
      TypeSwitch<Operation *, Result>(op)
          .Case<arith::AddIOp, index::AddOp>(
              [&](auto) { return intervals.add(range(0), range(1), width); })
          .Case<arith::SubIOp, index::SubOp>([&](auto) {
            return intervals.subtract(range(0), range(1), width);
          })
          .Case<arith::MulIOp, index::MulOp>([&](auto) {
            if (op->getOperand(0) == op->getOperand(1))
              return intervals.square(range(0), width);
            return intervals.multiply(range(0), range(1), width);
          })
          .Case<arith::DivSIOp, index::DivSOp>(
              [&](auto) { return divide(Rounding::ToZero, true); })
          .Case<arith::FloorDivSIOp, index::FloorDivSOp>(
              [&](auto) { return divide(Rounding::Down, true); })
          .Case<arith::CeilDivSIOp, index::CeilDivSOp>(
              [&](auto) { return divide(Rounding::Up, true); })
          .Case<arith::DivUIOp, index::DivUOp>(
              [&](auto) { return divide(Rounding::Down, false); })
          .Case<arith::CeilDivUIOp, index::CeilDivUOp>(
              [&](auto) { return divide(Rounding::Up, false); })
          .Case<arith::RemSIOp, index::RemSOp>([&](auto) {
            return Result{intervals.remainder(range(0), range(1), width, true),
                          true};
          })
          .Case<arith::RemUIOp, index::RemUOp>([&](auto) {
            return Result{intervals.remainder(range(0), range(1), width, false),
                          true};
          })
          .Case<arith::MinSIOp, index::MinSOp>([&](auto) {
            return Result{intervals.min(range(0), range(1), width, true), true};
          })
          .Case<arith::MaxSIOp, index::MaxSOp>([&](auto) {
            return Result{intervals.max(range(0), range(1), width, true), true};
          })
          .Case<arith::MinUIOp, index::MinUOp>([&](auto) {
            return Result{intervals.min(range(0), range(1), width, false),
                          false};
          })
          .Case<arith::MaxUIOp, index::MaxUOp>([&](auto) {
            return Result{intervals.max(range(0), range(1), width, false),
                          false};
          })
          .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) {
            auto truncated = findTruncated(op);
            return truncated ? Result{*truncated, false} : unknown();
          })
          .Case<arith::AndIOp, index::AndOp>([&](auto) {
            return Result{intervals.bitwiseAnd(range(0), range(1), width),
                          true};
          })
          .Case<arith::OrIOp, index::OrOp>([&](auto) {
            return Result{intervals.bitwiseOr(range(0), range(1), width),
                          false};
          })
          .Case<arith::XOrIOp, index::XOrOp>([&](auto) {
            return Result{intervals.bitwiseXor(range(0), range(1), width),
                          false};
          })
          .Case<arith::ShLIOp, index::ShlOp>([&](auto) {
            return intervals.shiftLeft(range(0), range(1), width);
          })
          .Case<arith::ShRSIOp, index::ShrSOp>([&](auto) {
            return intervals.shiftRight(range(0), range(1), width, true);
          })
          .Case<arith::ShRUIOp, index::ShrUOp>([&](auto) {
            return intervals.shiftRight(range(0), range(1), width, false);
          })
          .Case<math::AbsIOp>(
              [&](auto) { return intervals.absolute(range(0), width); })
          .Case<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp,
                index::CastSOp>([&](auto) {
            return intervals.convert(range(0), operandWidth(), width, true);
          })
          .Case<arith::ExtUIOp, arith::IndexCastUIOp, index::CastUOp>(
              [&](auto) {
                return intervals.convert(range(0), operandWidth(), width,
                                         false);
              })
          .Default([&](Operation *) { return unknown(); });
  RegionFact &fact = facts[op->getResult(0)];
  fact.range = result.range;
  fact.isExact = result.isExact;
  fact.exactRange = result.exactRange;
}

//===----------------------------------------------------------------------===//
// What has no result
//===----------------------------------------------------------------------===//

KeySet RegionAnalysis::findUndefined(Operation *op) {
  auto operand = [&](unsigned index) {
    return getOperand(op->getOperand(index));
  };
  auto width = [&] { return getIntegerWidth(op->getOperand(0).getType()); };
  if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, index::DivUOp,
          index::CeilDivUOp, index::RemUOp>(op))
    return canBeEqual(operand(1), 0);
  if (isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
          arith::RemSIOp, index::DivSOp, index::CeilDivSOp, index::FloorDivSOp,
          index::RemSOp>(op)) {
    KeySet overflow =
        sets.intersect(canBeEqual(operand(0), llvm::minIntN(width())),
                       canBeEqual(operand(1), -1));
    return sets.unite(canBeEqual(operand(1), 0), overflow);
  }
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, index::ShlOp,
          index::ShrSOp, index::ShrUOp>(op))
    return sets.unite(canBeLess(operand(1), 0),
                      canBeAtMost(int64_t(width()), operand(1)));
  if (isa<math::IPowIOp>(op))
    return sets.intersect(canBeEqual(operand(0), 0), canBeLess(operand(1), 0));
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return findTruncated(op) ? KeySetArithmetic::none() : sets.all();
  if (isa<ub::PoisonOp>(op))
    return sets.all();
  return KeySetArithmetic::none();
}

//===- AttentionOpRuntimeVerification.cpp - Run-time checks ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the verifier cannot see in dynamic types, checked before the op reads or
// anything is written. The lowerings call this interface, so that a kernel is
// safe whatever its caller checks.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/NamedMasksAndScores.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A7: `0 <= cumulative[0] <= ... <= cumulative[N] <= rows`.
void checkCumulative(OpBuilder &builder, Location loc, Operation *op,
                     Value cumulative, StringRef name, Value rows,
                     StringRef meaning, DescribeCheck describe) {
  std::string operand = describeOperand(cumulative, name);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = createDim(builder, loc, cumulative, 0);
  Value notEmpty =
      createCompare(builder, loc, arith::CmpIPredicate::sge, count, one);
  cf::AssertOp::create(
      builder, loc, notEmpty,
      describe(op, operand + ": expected at least 1 element, got 0"));
  std::string message =
      describe(op, operand +
                       ": expected numbers that do not decrease, none "
                       "below 0 or above the " +
                       meaning.str());
  auto load = [&](OpBuilder &b, Location loc, Value n) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      createLoad(b, loc, cumulative, n));
  };
  // Each number by itself, so that they can be checked in parallel.
  auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange) {
    Value bound = load(b, loc, n);
    Value isFirst = createCompare(b, loc, arith::CmpIPredicate::eq, n, zero);
    Value before = arith::SubIOp::create(
        b, loc, arith::MaxUIOp::create(b, loc, n, one), one);
    Value previous =
        arith::SelectOp::create(b, loc, isFirst, zero, load(b, loc, before));
    Value ordered =
        createCompare(b, loc, arith::CmpIPredicate::sge, bound, previous);
    Value inside =
        createCompare(b, loc, arith::CmpIPredicate::sle, bound, rows);
    assertWithNumbers(b, loc, arith::AndIOp::create(b, loc, ordered, inside),
                      message, "element {0} is {1}, after {2}, of at most {3}",
                      {n, bound, previous, rows});
    scf::YieldOp::create(b, loc);
  };
  scf::ForOp::create(builder, loc, zero, count, one, ValueRange{}, body);
}

/// A10: a captured cap of scores is positive and finite, and not NaN.
template <typename Op>
void checkCaps(OpBuilder &builder, Location loc, Op op,
               DescribeCheck describe) {
  for (BlockArgument argument : findCapturedCaps(op.getScore())) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    Value cap = op.getCapture(argument);
    moveBeforeWrites(builder, {cap}, {});
    std::string operand = describeOperand(cap, "score_captures");
    auto type = cast<FloatType>(cap.getType());
    // As the region uses it.
    if (FloatType ofScore = op.getAccumulationType();
        type.getWidth() > ofScore.getWidth()) {
      type = ofScore;
      cap = arith::TruncFOp::create(builder, loc, type, cap);
    }
    auto compare = [&](arith::CmpFPredicate predicate, APFloat bound) {
      Value limit = arith::ConstantOp::create(
          builder, loc, builder.getFloatAttr(type, bound));
      return arith::CmpFOp::create(builder, loc, predicate, cap, limit);
    };
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    Value isPositive =
        compare(arith::CmpFPredicate::OGT, APFloat::getZero(semantics));
    Value isFinite =
        compare(arith::CmpFPredicate::OLT, APFloat::getInf(semantics));
    cf::AssertOp::create(
        builder, loc, arith::AndIOp::create(builder, loc, isPositive, isFinite),
        describe(op, operand +
                         ": expected a positive, finite number as the cap "
                         "of scores"));
  }
}

template <typename Op>
void checkCommonOperands(OpBuilder &builder, Location loc, Op op,
                         DescribeCheck describe) {
  checkSizes(builder, loc, op, op.getSizeConstraints(), describe);
  if (op.getOffset())
    checkOffset(builder, loc, op.getOffset(),
                describe(op, describeOperand(op.getOffset(), "offset") +
                                 ": expected a number of at most 2^61 in "
                                 "magnitude"));
  checkCaps(builder, loc, op, describe);
}

} // namespace

void AttentionOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, *this);
  checkCommonOperands(builder, loc, *this, generateErrorMessage);
  if (!isPacked())
    return;
  checkCumulative(builder, loc, *this, getCumulativeQuery(), "cumulative_query",
                  createFirstDim(builder, loc, getQuery(), 2), "query length",
                  generateErrorMessage);
  checkCumulative(builder, loc, *this, getCumulativeKey(), "cumulative_key",
                  createFirstDim(builder, loc, getKey(), 2), "key/value length",
                  generateErrorMessage);
}

void MultiTokenAttentionOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, *this);
  checkCommonOperands(builder, loc, *this, generateErrorMessage);
  if (getQueryType().getDimSize(2) ==
          cast<ShapedType>(getOutput().getType()).getDimSize(2) &&
      !getQueryType().isDynamicDim(2))
    return;
  Value rows = createFirstDim(builder, loc, getOutput(), 2); // T2
  Value queries = createFirstDim(builder, loc, getQuery(), 2);
  assertWithNumbers(
      builder, loc,
      createCompare(builder, loc, arith::CmpIPredicate::sle, rows, queries),
      generateErrorMessage(*this, "operand 'output': dimension 2 (output "
                                  "length) is more than the query length"),
      "{0}, of at most {1}", {rows, queries});
}

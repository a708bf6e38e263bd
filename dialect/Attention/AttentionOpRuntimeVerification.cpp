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

/// A7: `0 <= counts[b] <= rows`.
void checkCounts(OpBuilder &builder, Location loc, Operation *op, Value counts,
                 Value rows, DescribeCheck describe) {
  std::string message =
      describe(op, describeOperand(counts, "counts") +
                       ": expected numbers from 0 to the query length");
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange) {
    Value count = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                             createLoad(b, loc, counts, n));
    assertWithNumbers(
        b, loc, createCompare(b, loc, arith::CmpIPredicate::ule, count, rows),
        message, "got {1} for batch entry {0}, of at most {2}",
        {n, count, rows});
    scf::YieldOp::create(b, loc);
  };
  scf::ForOp::create(builder, loc, zero, createDim(builder, loc, counts, 0),
                     one, ValueRange{}, body);
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

/// Of an attention that may have sequences.
template <typename Op>
void checkOperands(OpBuilder &builder, Location loc, Op op,
                   DescribeCheck describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, op);
  checkCommonOperands(builder, loc, op, describe);
  if (Value counts = op.getCounts())
    checkCounts(builder, loc, op, counts,
                createFirstDim(builder, loc, op.getQuery(), 2), describe);
  if (!op.isPacked())
    return;
  checkCumulative(builder, loc, op, op.getCumulativeQuery(), "cumulative_query",
                  createFirstDim(builder, loc, op.getQuery(), 2),
                  "query length", describe);
  if (op.getCumulativeKey())
    checkCumulative(builder, loc, op, op.getCumulativeKey(), "cumulative_key",
                    createFirstDim(builder, loc, op.getKey(), 2),
                    "key/value length", describe);
}

/// Of multi-token attention; `output` is the name of what has the output's
/// rows.
template <typename Op>
void checkMultiTokenOperands(OpBuilder &builder, Location loc, Op op,
                             StringRef output, DescribeCheck describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, op);
  checkCommonOperands(builder, loc, op, describe);
  if (op.getQueryType().getDimSize(2) ==
          cast<ShapedType>(op.getOutput().getType()).getDimSize(2) &&
      !op.getQueryType().isDynamicDim(2))
    return;
  Value rows = createFirstDim(builder, loc, op.getOutput(), 2); // T2
  Value queries = createFirstDim(builder, loc, op.getQuery(), 2);
  assertWithNumbers(
      builder, loc,
      createCompare(builder, loc, arith::CmpIPredicate::sle, rows, queries),
      describe(op, ("operand '" + output +
                    "': dimension 2 (output length) is more than the query "
                    "length")
                       .str()),
      "{0}, of at most {1}", {rows, queries});
}

} // namespace

void AttentionOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  checkOperands(builder, loc, *this, generateErrorMessage);
}

void AttentionBackwardOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  checkOperands(builder, loc, *this, generateErrorMessage);
}

void AttentionTangentOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  checkOperands(builder, loc, *this, generateErrorMessage);
}

void MultiTokenAttentionOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  checkMultiTokenOperands(builder, loc, *this, "output", generateErrorMessage);
}

void MultiTokenAttentionBackwardOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> generateErrorMessage) {
  checkMultiTokenOperands(builder, loc, *this, "output_gradient",
                          generateErrorMessage);
}

//===- Mutations.cpp - What may be left out of IR -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-reduce/Mutations.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Erases an operation, or a function, that nothing uses.
static LogicalResult eraseUnused(Operation *op, unsigned /*way*/) {
  if (!op->use_empty() || op->hasTrait<OpTrait::IsTerminator>())
    return failure();
  op->erase();
  return success();
}

/// Makes the result of an operation an argument of its function.
static LogicalResult makeArgument(Operation *op, unsigned /*way*/) {
  auto func = op->getParentOfType<func::FuncOp>();
  if (!func || op->getNumResults() != 1 || op->use_empty())
    return failure();
  unsigned number = func.getNumArguments();
  if (failed(func.insertArgument(number, op->getResult(0).getType(), {},
                                 op->getLoc())))
    return failure();
  op->getResult(0).replaceAllUsesWith(func.getArgument(number));
  op->erase();
  return success();
}

/// Replaces the result of an operation by an operand.
static LogicalResult replaceByOperand(Operation *op, unsigned way) {
  Value operand = op->getOperand(way);
  if (op->getNumResults() != 1 || op->use_empty() ||
      operand.getType() != op->getResult(0).getType())
    return failure();
  op->getResult(0).replaceAllUsesWith(operand);
  op->erase();
  return success();
}

/// Returns one value less.
static LogicalResult eraseResult(Operation *op, unsigned way) {
  auto func = op->getParentOfType<func::FuncOp>();
  if (!isa<func::ReturnOp>(op) || !func || failed(func.eraseResult(way)))
    return failure();
  op->eraseOperand(way);
  return success();
}

static LogicalResult eraseArgument(Operation *op, unsigned way) {
  auto func = cast<func::FuncOp>(op);
  if (!func.getArgument(way).use_empty())
    return failure();
  return func.eraseArgument(way);
}

/// Leaves out a clause of an attention.
template <typename Op> static LogicalResult eraseClauseOf(Op op, unsigned way) {
  auto eraseRegion = [&](Region &region, MutableOperandRange captures) {
    if (region.empty())
      return failure();
    region.front().erase();
    captures.clear();
    return success();
  };
  auto clear = [&](MutableOperandRange operand) {
    if (operand.empty())
      return failure();
    operand.clear();
    return success();
  };
  switch (way) {
  case 0:
    return eraseRegion(op.getMask(), op.getMaskCapturesMutable());
  case 1:
    return eraseRegion(op.getScore(), op.getScoreCapturesMutable());
  case 2:
    return success(bool(op.removeStaticScaleAttr()) ||
                   succeeded(clear(op.getScaleMutable())));
  case 3:
    if (op.getBottomRight()) {
      op.setBottomRight(false);
      return success();
    }
    return clear(op.getOffsetMutable());
  case 4:
    return clear(op.getSinkMutable());
  case 5:
    if (!op.hasDropout())
      return failure();
    if constexpr (std::is_same_v<Op, AttentionOp>) {
      op.removeDropout();
    } else {
      (void)clear(op.getDropoutSeedMutable());
      (void)clear(op.getDropoutCallMutable());
      op.removeDropoutRateAttr();
    }
    return success();
  default:
    return failure();
  }
}

static LogicalResult eraseClause(Operation *op, unsigned way) {
  if (auto attention = dyn_cast<MultiTokenAttentionOp>(op))
    return eraseClauseOf(attention, way);
  return eraseClauseOf(cast<AttentionOp>(op), way);
}

static unsigned countOne(Operation * /*op*/) { return 1; }

static unsigned countOperands(Operation *op) { return op->getNumOperands(); }

static unsigned countClauses(Operation *op) {
  return isa<AttentionOp, MultiTokenAttentionOp>(op) ? 6 : 0;
}

static unsigned countArguments(Operation *op) {
  auto func = dyn_cast<func::FuncOp>(op);
  return func && !func.isExternal() ? func.getNumArguments() : 0;
}

ArrayRef<Mutation> attn::getMutations() {
  static constexpr Mutation mutations[] = {
      {countOne, eraseUnused},           {countOne, makeArgument},
      {countOperands, replaceByOperand}, {countClauses, eraseClause},
      {countOperands, eraseResult},      {countArguments, eraseArgument}};
  return mutations;
}

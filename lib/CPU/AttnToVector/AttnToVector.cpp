//===- AttnToVector.cpp - The inner ops of attention as vector code -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/AttnToVector/AttnToVector.h"
#include "lib/CPU/AttnToVector/Exp2.h"
#include "lib/CPU/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTATTNTOVECTOR
#include "lib/CPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether `op` computes a function of vectors of f32 that is lowered here: an
/// exponential by that of 2, and a quotient by the reciprocal's estimate, if
/// their flags allow it.
static bool isVectorFunction(Operation *op, TargetAttr target) {
  if (!isa<math::ExpOp, math::Exp2Op, math::TanhOp, arith::DivFOp>(op))
    return false;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type || type.getRank() != 1 || type.isScalable() ||
      !type.getElementType().isF32() ||
      type.getDimSize(0) % (target.getLanes()) != 0)
    return false;
  if (auto exp = dyn_cast<math::ExpOp>(op))
    return bitEnumContainsAll(exp.getFastmath(), arith::FastMathFlags::afn);
  if (auto division = dyn_cast<arith::DivFOp>(op))
    return target.getScalef() && target.getVectorBits() == 512 &&
           bitEnumContainsAll(division.getFastmath(),
                              arith::FastMathFlags::arcp);
  return true;
}

static Value buildFunction(LaneBuilder &b, Operation *op, Value piece) {
  if (isa<math::TanhOp>(op))
    return buildTanhOfLanes(b, piece);
  if (isa<math::ExpOp>(op))
    return buildFastExp(b, piece);
  return isa<math::Exp2Op>(op) ? buildExp2(b, piece)
                               : buildReciprocal(b, piece);
}

static void lowerFunction(Operation *op, TargetAttr target) {
  auto type = cast<VectorType>(op->getResult(0).getType());
  LaneBuilder b(op, target, type.getDimSize(0));
  b.setInsertionPoint(op);
  bool isDivision = isa<arith::DivFOp>(op);
  Value operand = op->getOperand(isDivision ? 1 : 0), result = operand;
  for (int64_t first = 0; first < b.getNumLanes(); first += b.getWidth()) {
    Value piece = b.create<vector::ExtractStridedSliceOp>(operand, first,
                                                          b.getWidth(), 1);
    piece = buildFunction(b, op, piece);
    result = b.create<vector::InsertStridedSliceOp>(piece, result, first, 1);
  }
  if (isDivision)
    result = b.create<arith::MulFOp>(op->getOperand(0), result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

namespace {

struct ConvertAttnToVector
    : attn::impl::ConvertAttnToVectorBase<ConvertAttnToVector> {
  void runOnOperation() override {
    TargetAttr target = getTarget(getOperation());
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<OnlineSoftmaxOp, OnlineDropoutOp, AllFiniteOp, BlockRangeOp>(
              op) ||
          isVectorFunction(op, target))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(lower(op, target)))
        return signalPassFailure();
  }

  static LogicalResult lower(Operation *op, TargetAttr target) {
    if (auto softmax = dyn_cast<OnlineSoftmaxOp>(op))
      return lowerOnlineSoftmax(softmax, target);
    if (auto dropout = dyn_cast<OnlineDropoutOp>(op))
      return lowerOnlineDropout(dropout, target);
    if (auto range = dyn_cast<BlockRangeOp>(op))
      return lowerBlockRange(range, target);
    if (auto finite = dyn_cast<AllFiniteOp>(op))
      return lowerAllFinite(finite, target);
    lowerFunction(op, target);
    return success();
  }
};

} // namespace

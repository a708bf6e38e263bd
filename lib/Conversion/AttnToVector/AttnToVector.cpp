//===- AttnToVector.cpp - The inner ops of attention as vector code -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToVector/AttnToVector.h"
#include "lib/Conversion/AttnToVector/Exp2.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTATTNTOVECTOR
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// math.exp2 and math.tanh of vectors of f32, as those of what merges states
/// and of panels; no others.
static void lowerFunction(Operation *op, const VectorTarget &target) {
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type || type.getRank() != 1 || type.isScalable() ||
      !type.getElementType().isF32() ||
      type.getDimSize(0) % (target.vectorBits / 32) != 0)
    return;
  LaneBuilder b(op, target, type.getDimSize(0));
  b.setInsertionPoint(op);
  Value operand = op->getOperand(0), result = operand;
  for (int64_t first = 0; first < b.getNumLanes(); first += b.getWidth()) {
    Value piece = b.create<vector::ExtractStridedSliceOp>(operand, first,
                                                          b.getWidth(), 1);
    piece = isa<math::TanhOp>(op) ? buildTanhOfLanes(b, piece)
                                  : buildExp2(b, piece);
    result = b.create<vector::InsertStridedSliceOp>(piece, result, first, 1);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

namespace {

struct ConvertAttnToVector
    : attn::impl::ConvertAttnToVectorBase<ConvertAttnToVector> {
  using ConvertAttnToVectorBase::ConvertAttnToVectorBase;

  void runOnOperation() override {
    VectorTarget target = {vectorBits, scalef};
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<OnlineSoftmaxOp, AllFiniteOp, BlockRangeOp, math::Exp2Op,
              math::TanhOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(lower(op, target)))
        return signalPassFailure();
  }

  static LogicalResult lower(Operation *op, const VectorTarget &target) {
    if (auto softmax = dyn_cast<OnlineSoftmaxOp>(op))
      return lowerOnlineSoftmax(softmax, target);
    if (auto range = dyn_cast<BlockRangeOp>(op))
      return lowerBlockRange(range, target);
    if (isa<math::Exp2Op, math::TanhOp>(op)) {
      lowerFunction(op, target);
      return success();
    }
    return lowerAllFinite(cast<AllFiniteOp>(op), target);
  }
};

} // namespace

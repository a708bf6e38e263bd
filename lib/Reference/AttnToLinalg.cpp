//===- AttnToLinalg.cpp - The reference lowering of attn ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTATTNTOLINALG
#include "lib/Reference/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

struct ConvertAttnToLinalg
    : attn::impl::ConvertAttnToLinalgBase<ConvertAttnToLinalg> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateAttentionLowering(patterns);
    populateBackwardLowering(patterns);
    populateTangentLowering(patterns);
    populateMultiTokenLowerings(patterns);
    populateMultiTokenBackwardLowering(patterns);
    populateCacheLowerings(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // After them, for appends to a cache compute their rows.
    RewritePatternSet layer(&getContext());
    populateLayerLowerings(layer);
    populateProjectionLowerings(layer);
    populateRowLowerings(layer);
    walkAndApplyPatterns(getOperation(), std::move(layer));
    WalkResult left = getOperation()->walk([](Operation *op) {
      if (!isa<AttentionBackwardOp, AttentionOp, AttentionTangentOp,
               CacheAppendOp, DropoutOp, HeadNormOp, MergeOp,
               MultiTokenAttentionBackwardOp, MultiTokenAttentionOp,
               ProjectionOp, RopeOp>(op))
        return WalkResult::advance();
      return WalkResult(op->emitError("'")
                        << op->getName()
                        << "' on memrefs is not lowered by this pass: "
                           "expected tensors");
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

//===- TileTangent.cpp - Pass to tile tangents of attention ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/Passes.h"
#include "lib/Gradient/TangentTiles.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TILETANGENT
#include "lib/Gradient/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct TileTangent : attn::impl::TileTangentBase<TileTangent> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionTangentOp> ops;
    getOperation()->walk([&](AttentionTangentOp op) {
      if (op->getNumResults() > 0)
        ops.push_back(op);
    });
    for (AttentionTangentOp op : ops) {
      if (!getPlanOrRemark(op, findObstacle(op)))
        continue;
      rewriter.setInsertionPoint(op);
      TangentTiles tiles(op, rewriter);
      if (failed(tiles.prepare()))
        return signalPassFailure();
      rewriter.replaceOp(op, tiles.emit());
    }
  }
};
} // namespace

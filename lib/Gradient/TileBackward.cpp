//===- TileBackward.cpp - Pass to tile gradients of attention -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/BackwardTiles.h"
#include "lib/Gradient/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TILEBACKWARD
#include "lib/Gradient/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct TileBackward : attn::impl::TileBackwardBase<TileBackward> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionBackwardOp> ops;
    getOperation()->walk([&](AttentionBackwardOp op) {
      if (op->getNumResults() > 0)
        ops.push_back(op);
    });
    for (AttentionBackwardOp op : ops) {
      if (!getPlanOrRemark(op, findObstacle(op)))
        continue;
      rewriter.setInsertionPoint(op);
      BackwardTiles tiles(op, rewriter);
      if (failed(tiles.prepare()))
        return signalPassFailure();
      if (StringRef obstacle = tiles.findObstacle(); !obstacle.empty()) {
        getPlanOrRemark(op, obstacle);
        continue;
      }
      rewriter.replaceOp(op, tiles.emit());
    }
  }
};
} // namespace

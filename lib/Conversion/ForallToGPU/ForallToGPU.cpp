//===- ForallToGPU.cpp - Parallel tiles as workgroups ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/ForallToGPU/HostChecks.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTFORALLTOGPU
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {

constexpr int64_t kRowsOfWarp = 16, kLanes = 32;

/// A warp for each 16 rows of the products in a tile.
FailureOr<int64_t> findNumThreads(scf::ForallOp loop) {
  int64_t rows = 0;
  bool agree = true;
  loop.walk([&](vector::ContractionOp op) {
    auto type = dyn_cast<VectorType>(op.getResultType());
    int64_t own = type ? type.getDimSize(0) : 0;
    agree &= own > 0 && own % kRowsOfWarp == 0 && (rows == 0 || rows == own);
    rows = own;
  });
  if (rows == 0 || !agree)
    return loop.emitOpError("expected products of one number of rows that is a "
                            "multiple of ")
           << kRowsOfWarp << " in a tile for a GPU";
  return rows / kRowsOfWarp * kLanes;
}

LogicalResult convertLoop(RewriterBase &rewriter, scf::ForallOp loop) {
  Location loc = loop.getLoc();
  if (loop.getRank() > 3 || loop.getNumResults() > 0)
    return loop.emitOpError("expected at most 3 loops on buffers for a GPU");
  FailureOr<int64_t> threads = findNumThreads(loop);
  if (failed(threads))
    return failure();
  rewriter.setInsertionPoint(loop);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  SmallVector<Value> sizes;
  AffineExpr begin, end, step, number;
  bindSymbols(rewriter.getContext(), begin, end, step);
  number = rewriter.getAffineDimExpr(0);
  for (auto [low, high, by] :
       llvm::zip(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                 loop.getMixedStep()))
    sizes.push_back(getValueOrCreateConstantIndexOp(
        rewriter, loc,
        affine::makeComposedFoldedAffineApply(
            rewriter, loc, (end - begin).ceilDiv(step), {low, high, by})));
  // x is the last loop.
  SmallVector<Value> grid(llvm::reverse(sizes));
  grid.resize(3, one);
  Value size = arith::ConstantIndexOp::create(rewriter, loc, *threads);
  auto launch = gpu::LaunchOp::create(rewriter, loc, grid[0], grid[1], grid[2],
                                      size, one, one);
  Block &body = launch.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  gpu::KernelDim3 ids = launch.getBlockIds();
  Value blocks[] = {ids.x, ids.y, ids.z};
  SmallVector<Value> indices;
  for (auto [i, bounds] : llvm::enumerate(
           llvm::zip(loop.getMixedLowerBound(), loop.getMixedStep()))) {
    auto [low, by] = bounds;
    OpFoldResult index = affine::makeComposedFoldedAffineApply(
        rewriter, loc,
        rewriter.getAffineSymbolExpr(0) +
            number * rewriter.getAffineSymbolExpr(1),
        {blocks[loop.getRank() - 1 - i], low, by});
    indices.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, index));
  }
  rewriter.eraseOp(loop.getTerminator());
  rewriter.mergeBlocks(loop.getBody(), &body, indices);
  rewriter.setInsertionPointToEnd(&body);
  gpu::TerminatorOp::create(rewriter, loc);
  rewriter.eraseOp(loop);
  return success();
}

/// What is left on the host must not touch buffers.
LogicalResult checkHost(FunctionOpInterface function) {
  auto result = function.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
         !isa<MemoryEffectOpInterface>(op)) ||
        isa<FunctionOpInterface, cf::AssertOp>(op) || isMemoryEffectFree(op))
      return WalkResult::advance();
    op->emitOpError("runs on the host, which cannot access buffers of a GPU");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct ConvertForallToGPU
    : attn::impl::ConvertForallToGPUBase<ConvertForallToGPU> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (scf::ForallOp loop : loops)
      if (failed(convertLoop(rewriter, loop)))
        return signalPassFailure();
    getOperation()->walk([&](FunctionOpInterface function) {
      for (Block &block : function.getFunctionBody())
        attn::moveChecksToDevice(block);
      if (failed(checkHost(function)))
        signalPassFailure();
    });
  }
};

} // namespace

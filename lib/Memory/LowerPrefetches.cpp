//===- LowerPrefetches.cpp - Loops that fetch rows ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Memory/Passes.h"
#include "lib/Memory/Transforms.h"
#include "lib/Plan/CacheLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERPREFETCHES
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

void attn::emitPrefetchOfRow(OpBuilder &b, Location loc, PrefetchOp op,
                             Value row) {
  auto type = cast<MemRefType>(op.getSource().getType());
  if (!type.isLastDimUnitStride())
    return;
  SmallVector<Value> at(op.getIndices());
  at[op.getDim()] = row;
  // More of a row comes soon enough once it is read.
  constexpr int64_t kMostLines = 1024;
  int64_t perLine =
      std::max<int64_t>(kCacheLineBytes * 8 / type.getElementTypeBitWidth(), 1);
  int64_t end = std::min(type.getShape().back(), kMostLines * perLine);
  for (int64_t column = 0; column < end; column += perLine) {
    at.back() = arith::ConstantIndexOp::create(b, loc, column);
    memref::PrefetchOp::create(b, loc, op.getSource(), at, op.getForWrite(),
                               /*localityHint=*/op.getForWrite() ? 3 : 2,
                               /*isDataCache=*/true);
  }
}

LogicalResult attn::lowerPrefetch(RewriterBase &rewriter, PrefetchOp op) {
  if (!isa<MemRefType>(op.getSource().getType()))
    return rewriter.notifyMatchFailure(op, "not on buffers");
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  auto rows = scf::ForOp::create(rewriter, loc, op.getIndices()[op.getDim()],
                                 op.getEnd(), one);
  rewriter.setInsertionPointToStart(rows.getBody());
  emitPrefetchOfRow(rewriter, loc, op, rows.getInductionVar());
  rewriter.eraseOp(op);
  return success();
}

namespace {
struct LowerPrefetches : attn::impl::LowerPrefetchesBase<LowerPrefetches> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<PrefetchOp> ops;
    getOperation()->walk([&](PrefetchOp op) { ops.push_back(op); });
    for (PrefetchOp op : ops)
      if (failed(lowerPrefetch(rewriter, op))) {
        op.emitOpError("expected a memref; it must be bufferized first");
        return signalPassFailure();
      }
  }
};
} // namespace

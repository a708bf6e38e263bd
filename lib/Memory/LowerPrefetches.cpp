//===- LowerPrefetches.cpp - Loops that fetch rows ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Memory/Passes.h"
#include "lib/Memory/Transforms.h"
#include "lib/Plan/TileSizes.h"

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

LogicalResult attn::lowerPrefetch(RewriterBase &rewriter, PrefetchOp op) {
  auto type = dyn_cast<MemRefType>(op.getSource().getType());
  if (!type)
    return rewriter.notifyMatchFailure(op, "not on buffers");
  // Elements of a row that are no neighbours have a line each.
  if (!type.isLastDimUnitStride()) {
    rewriter.eraseOp(op);
    return success();
  }
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  SmallVector<Value> at(op.getIndices());
  auto rows =
      scf::ForOp::create(rewriter, loc, at[op.getDim()], op.getEnd(), index(1));
  rewriter.setInsertionPointToStart(rows.getBody());
  at[op.getDim()] = rows.getInductionVar();
  int64_t perLine = kCacheLineBytes * 8 / type.getElementTypeBitWidth();
  for (int64_t column = 0; column < type.getShape().back(); column += perLine) {
    at.back() = index(column);
    memref::PrefetchOp::create(rewriter, loc, op.getSource(), at,
                               op.getForWrite(),
                               /*localityHint=*/op.getForWrite() ? 3 : 2,
                               /*isDataCache=*/true);
  }
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

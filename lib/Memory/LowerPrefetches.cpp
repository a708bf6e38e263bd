//===- LowerPrefetches.cpp - Loops that fetch rows ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/Passes.h"
#include "lib/Memory/PrefetchShares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERPREFETCHES
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct LowerPrefetches : attn::impl::LowerPrefetchesBase<LowerPrefetches> {
  void runOnOperation() override {
    SmallVector<PrefetchOp> ops;
    getOperation()->walk([&](PrefetchOp op) { ops.push_back(op); });
    for (PrefetchOp op : ops) {
      if (!isa<MemRefType>(op.getSource().getType())) {
        op.emitOpError("expected a memref; it must be bufferized first");
        return signalPassFailure();
      }
      OpBuilder b(op);
      emitPrefetches(b, op);
      op.erase();
    }
  }
};
} // namespace

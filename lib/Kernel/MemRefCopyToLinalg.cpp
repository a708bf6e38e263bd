//===- MemRefCopyToLinalg.cpp - Copies as loops ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTMEMREFCOPYTOLINALG
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct ConvertMemRefCopyToLinalg
    : attn::impl::ConvertMemRefCopyToLinalgBase<ConvertMemRefCopyToLinalg> {
  void runOnOperation() override {
    getOperation()->walk([](memref::CopyOp op) {
      if (!isa<MemRefType>(op.getSource().getType()) ||
          !isa<MemRefType>(op.getTarget().getType()))
        return;
      OpBuilder builder(op);
      linalg::CopyOp::create(builder, op.getLoc(), op.getSource(),
                             op.getTarget());
      op.erase();
    });
  }
};
} // namespace

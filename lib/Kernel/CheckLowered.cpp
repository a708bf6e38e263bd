//===- CheckLowered.cpp - What no pass has lowered ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Plan/Target.h"
#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKLOWERED
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static bool isLowered(Operation *op) {
  return isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(
             op->getDialect()) ||
         isa<ModuleOp, gpu::GPUModuleOp>(op) ||
         (isa<WarpgroupMmaOp, WarpgroupWaitOp, TransposeInWarpOp>(op) &&
          op->getParentOfType<gpu::GPUModuleOp>());
}

/// The first operation that is not lowered; a cast only if there is no other,
/// for it is the trace of one.
static Operation *findLeftOver(Operation *root) {
  Operation *cast = nullptr;
  Operation *other = nullptr;
  root->walk([&](Operation *op) {
    if (isLowered(op))
      return WalkResult::advance();
    Operation *&found = isa<UnrealizedConversionCastOp>(op) ? cast : other;
    if (!found)
      found = op;
    return other ? WalkResult::interrupt() : WalkResult::advance();
  });
  return other ? other : cast;
}

namespace {
struct CheckLowered : attn::impl::CheckLoweredBase<CheckLowered> {
  void runOnOperation() override {
    if (Operation *op = findLeftOver(getOperation())) {
      op->emitOpError("is not lowered by this pipeline");
      signalPassFailure();
    }
    // Nothing reads it any more, and tools of the LLVM dialect do not know it.
    getOperation()->removeAttr(TargetAttr::kModuleAttr);
  }
};
} // namespace

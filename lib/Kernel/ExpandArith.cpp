//===- ExpandArith.cpp - What the target has no instruction for -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::attn {
#define GEN_PASS_DEF_EXPANDARITH
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct ExpandArith : attn::impl::ExpandArithBase<ExpandArith> {
  void runOnOperation() override {
    arith::ArithExpandOpsPassOptions options;
    options.includeBf16 = !getTarget(getOperation()).hasPairs();
    OpPassManager expansion(getOperation()->getName());
    expansion.addPass(arith::createArithExpandOpsPass(options));
    if (failed(runPipeline(expansion, getOperation())))
      signalPassFailure();
  }
};
} // namespace

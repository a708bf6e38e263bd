//===- PlanKernels.cpp - How kernels compute their ops --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/Passes.h"
#include "lib/Plan/Plan.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PLANKERNELS
#include "lib/Plan/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct PlanKernels : attn::impl::PlanKernelsBase<PlanKernels> {
  using PlanKernelsBase::PlanKernelsBase;

  void runOnOperation() override {
    Machine machine = workgroups ? Machine::GPU : Machine::CPU;
    WalkResult result = getOperation()->walk([&](AttentionOp op) {
      if (!findObstacle(op).empty())
        return WalkResult::advance();
      FailureOr<PlanAttr> plan = planAttention(op, machine);
      if (failed(plan))
        return WalkResult::interrupt();
      op->setAttr(PlanAttr::kName, *plan);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

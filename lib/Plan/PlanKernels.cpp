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
    auto attach = [](Operation *op, FailureOr<PlanAttr> plan) {
      if (succeeded(plan))
        op->setAttr(PlanAttr::kName, *plan);
      return WalkResult(plan);
    };
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        if (findObstacle(attention).empty())
          return attach(op, planAttention(attention, machine));
      if (auto online = dyn_cast<OnlineAttentionOp>(op))
        return attach(op, planOnline(online));
      if (auto projection = dyn_cast<ProjectionOp>(op))
        if (machine == Machine::CPU && findObstacle(projection).empty())
          return attach(op, planProjection(projection));
      if (auto multiToken = dyn_cast<MultiTokenAttentionOp>(op))
        if (machine == Machine::CPU)
          return attach(op, planMultiToken(multiToken));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

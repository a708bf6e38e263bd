//===- PlanKernels.cpp - How kernels compute their ops --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/Passes.h"
#include "lib/Plan/Plan.h"

#include "llvm/ADT/TypeSwitch.h"

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
    Device device = workgroups ? Device::GPU : Device::CPU;
    auto attach = [](Operation *op, FailureOr<PlanAttr> plan) {
      if (succeeded(plan))
        op->setAttr(PlanAttr::kName, *plan);
      return WalkResult(plan);
    };
    WalkResult result = getOperation()->walk([&](Operation *op) {
      // What no kernel computes has no plan.
      auto refuse = [&](StringRef obstacle) {
        PlanAttr said = getPlan(op);
        // There, each query is computed by itself.
        if (said && said == PlanAttr::get(op->getContext(),
                                          {.isBatchInvariant = true})) {
          op->removeAttr(PlanAttr::kName);
          return WalkResult::advance();
        }
        if (!said)
          return WalkResult::advance();
        op->emitError("attn.plan: is left to the reference lowering, because ")
            << obstacle;
        return WalkResult::interrupt();
      };
      auto attachUnless = [&](StringRef obstacle, auto plan) {
        return obstacle.empty() ? attach(op, plan()) : refuse(obstacle);
      };
      if (auto attention = dyn_cast<AttentionOp>(op))
        return attachUnless(findObstacle(attention),
                            [&] { return planAttention(attention, device); });
      if (auto online = dyn_cast<OnlineAttentionOp>(op))
        return attach(op, planOnline(online));
      if (device == Device::GPU)
        return WalkResult::advance();
      return llvm::TypeSwitch<Operation *, WalkResult>(op)
          .Case<AttentionBackwardOp, AttentionTangentOp, ProjectionOp>(
              [&](auto known) {
                return attachUnless(findObstacle(known),
                                    [&] { return planForCPU(known); });
              })
          .Case<MultiTokenAttentionOp, MultiTokenAttentionBackwardOp>(
              [&](auto known) { return attach(op, planForCPU(known)); })
          .Default([](Operation *) { return WalkResult::advance(); });
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

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
      if (auto attention = dyn_cast<AttentionOp>(op)) {
        StringRef obstacle = findObstacle(attention);
        return obstacle.empty() ? attach(op, planAttention(attention, device))
                                : refuse(obstacle);
      }
      if (auto backward = dyn_cast<AttentionBackwardOp>(op))
        if (device == Device::CPU) {
          StringRef obstacle = findObstacle(backward);
          return obstacle.empty() ? attach(op, planBackward(backward))
                                  : refuse(obstacle);
        }
      if (auto tangent = dyn_cast<AttentionTangentOp>(op))
        if (device == Device::CPU) {
          StringRef obstacle = findObstacle(tangent);
          return obstacle.empty() ? attach(op, planTangent(tangent))
                                  : refuse(obstacle);
        }
      if (auto online = dyn_cast<OnlineAttentionOp>(op))
        return attach(op, planOnline(online));
      if (auto projection = dyn_cast<ProjectionOp>(op))
        if (device == Device::CPU) {
          StringRef obstacle = findObstacle(projection);
          return obstacle.empty() ? attach(op, planProjection(projection))
                                  : refuse(obstacle);
        }
      if (auto multiToken = dyn_cast<MultiTokenAttentionOp>(op))
        if (device == Device::CPU)
          return attach(op, planMultiToken(multiToken));
      if (auto backward = dyn_cast<MultiTokenAttentionBackwardOp>(op))
        if (device == Device::CPU)
          return attach(op, planMultiToken(backward));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

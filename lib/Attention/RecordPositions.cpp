//===- RecordPositions.cpp - Positions that messages name -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Attention/Passes.h"
#include "lib/Regions/RegionEvaluation.h"

namespace mlir::attn {
#define GEN_PASS_DEF_RECORDPOSITIONS
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static void recordPosition(Region &region, unsigned firstIndex) {
  if (region.empty() || !mayBeUndefined(region))
    return;
  auto yield = cast<YieldOp>(region.front().getTerminator());
  if (yield.getPosition().empty())
    yield.getPositionMutable().assign(
        region.getArguments().slice(firstIndex, 4));
}

/// Lets regions that may have no value yield the position that messages name.
static void recordPositions(AttentionOp op) {
  recordPosition(op.getScore(), 1);
  recordPosition(op.getMask(), 0);
}

namespace {
struct RecordPositions : attn::impl::RecordPositionsBase<RecordPositions> {
  void runOnOperation() override {
    getOperation()->walk([](AttentionOp op) { recordPositions(op); });
  }
};
} // namespace

//===- DensifyRows.cpp - Keys and values side by side ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DENSIFYROWS
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Has `op` read keys and values that are side by side if several tiles do.
template <typename Op> static void densify(RewriterBase &rewriter, Op op) {
  PlanAttr plan = getPlan(op);
  if (!plan || plan.getLayout() != OnlineLayout::Lanes ||
      op.getKey().template getDefiningOp<CacheReadOp>() ||
      op.getValue().template getDefiningOp<CacheReadOp>())
    return;
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  OpFoldResult length = b.size(op.getQuery(), 2);
  std::optional<int64_t> known = getConstantIntValue(length);
  if (known && *known <= plan.getRows())
    return;
  Value hasMany = known ? Value() : b.isLess(plan.getRows(), length);
  auto dense =
      DenseRowsOp::create(b, {op.getKey().getType(), op.getValue().getType()},
                          {op.getKey(), op.getValue()}, hasMany);
  rewriter.modifyOpInPlace(op, [&] {
    op.getKeyMutable().assign(dense.getResult(0));
    op.getValueMutable().assign(dense.getResult(1));
  });
}

namespace {
struct DensifyRows : attn::impl::DensifyRowsBase<DensifyRows> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        densify(rewriter, attention);
      else if (auto backward = dyn_cast<AttentionBackwardOp>(op))
        densify(rewriter, backward);
    });
  }
};
} // namespace

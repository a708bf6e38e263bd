//===- PadHeads.cpp - Head sizes that fill tiles --------------------------===//
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
#define GEN_PASS_DEF_PADHEADS
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Rows that one iteration of the parallel loop copies.
static constexpr int64_t kRowsPerTile = 256;

/// Copies rows, `(1, 1, n, D)`, to the beginning of `padded`, `(1, 1, n, P)`,
/// and fills the rest with 0.
static Value copyRows(IndexBuilder &b, Value rows, Value padded) {
  int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(3),
          all = cast<RankedTensorType>(padded.getType()).getDimSize(3);
  SmallVector<OpFoldResult> sizes = b.sizes(padded), offsets = b.zeros(4);
  auto update = [&](int64_t first, int64_t count,
                    function_ref<Value(Value)> compute) {
    offsets[3] = b.getIndexAttr(first);
    sizes[3] = b.getIndexAttr(count);
    Value part = compute(b.slice(padded, offsets, sizes));
    padded = b.insert(part, padded, offsets, sizes);
  };
  update(size, all - size, [&](Value part) { return b.fillWithZero(part); });
  update(0, size, [&](Value part) {
    return linalg::CopyOp::create(b, rows, part).getResult(0);
  });
  return padded;
}

/// A tensor `(B, H, S, D)` with `size` elements in each row, in parallel.
static Value pad(IndexBuilder &b, Value tensor, int64_t size) {
  SmallVector<OpFoldResult> sizes = b.sizes(tensor), ends(sizes);
  ends.pop_back();
  OpFoldResult before = std::exchange(sizes[3], b.getIndexAttr(size));
  Value empty = b.empty(sizes, getElementTypeOrSelf(tensor));
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp loop = b.enterForall(ends, empty, b.fold({1, 1, kRowsPerTile}));
  SmallVector<Value> at(loop.getInductionVars());
  AffineExpr first = b.getAffineSymbolExpr(0), end = b.getAffineSymbolExpr(1);
  OpFoldResult count = b.minimum(
      {b.getAffineConstantExpr(kRowsPerTile), end - first}, {at[2], ends[2]});
  IndexBuilder::Box box = {{at[0], at[1], at[2], 0}, {1, 1, count, before}};
  Value rows = b.extract(tensor, box), all = loop.getRegionIterArgs()[0];
  box.sizes[3] = size;
  Value padded = copyRows(b, rows, b.extract(all, box));
  b.insertInParallel(loop, padded, all, box);
  return loop.getResult(0);
}

/// Pads the rows of query and key with 0, in parallel, to `padded` elements,
/// which changes no score.
static void padHeads(RewriterBase &rewriter, AttentionOp op, int64_t padded) {
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  std::optional<double> scale = op.getConstantScale();
  Value query = pad(b, op.getQuery(), padded);
  Value key = pad(b, op.getKey(), padded);
  rewriter.modifyOpInPlace(op, [&] {
    // The default would be that of the larger size.
    if (scale)
      op.setStaticScaleAttr(rewriter.getF64FloatAttr(*scale));
    op.getQueryMutable().assign(query);
    op.getKeyMutable().assign(key);
  });
}

namespace {
struct PadHeads : attn::impl::PadHeadsBase<PadHeads> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionOp op) {
      if (PlanAttr plan = getPlan(op);
          plan && plan.getHeadSize() > op.getQueryType().getDimSize(3))
        padHeads(rewriter, op, plan.getHeadSize());
    });
  }
};
} // namespace

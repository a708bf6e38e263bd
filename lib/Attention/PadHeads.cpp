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
  auto type = cast<RankedTensorType>(padded.getType());
  int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(3);
  SmallVector<OpFoldResult> sizes = b.sizes(padded), offsets = b.zeros(4);
  auto update = [&](int64_t first, int64_t count,
                    function_ref<Value(Value)> compute) {
    offsets[3] = b.getIndexAttr(first);
    sizes[3] = b.getIndexAttr(count);
    Value part = compute(b.slice(padded, offsets, sizes));
    padded = b.insert(part, padded, offsets, sizes);
  };
  update(size, type.getDimSize(3) - size,
         [&](Value part) { return b.fillWithZero(part); });
  update(0, size, [&](Value part) {
    return linalg::CopyOp::create(b, rows, part).getResult(0);
  });
  return padded;
}

/// A tensor `(B, H, S, D)` with `size` elements in each row, in parallel.
static Value pad(IndexBuilder &b, Value tensor, int64_t size) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = b.sizes(tensor), ends(sizes);
  ends.pop_back();
  sizes[3] = b.getIndexAttr(size);
  Value empty = b.empty(sizes, type.getElementType());
  auto loop = scf::ForallOp::create(
      b, b.zeros(3), ends, {one, one, b.getIndexAttr(kRowsPerTile)}, empty,
      /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<OpFoldResult> at =
      llvm::to_vector_of<OpFoldResult>(loop.getInductionVars());
  at.push_back(zero);
  AffineExpr first = b.getAffineSymbolExpr(0), end = b.getAffineSymbolExpr(1);
  SmallVector<OpFoldResult> extent = {
      one, one,
      b.minimum({b.getAffineConstantExpr(kRowsPerTile), end - first},
                {at[2], ends[2]}),
      b.getIndexAttr(type.getDimSize(3))};
  Value rows = b.slice(tensor, at, extent), all = loop.getRegionIterArgs()[0];
  extent[3] = b.getIndexAttr(size);
  Value padded = copyRows(b, rows, b.slice(all, at, extent));
  b.setInsertionPointToStart(loop.getTerminator().getBody());
  b.insertInParallel(padded, all, at, extent);
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
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      if (PlanAttr plan = getPlan(op);
          plan && plan.getHeadSize() > op.getQueryType().getDimSize(3))
        padHeads(rewriter, op, plan.getHeadSize());
  }
};
} // namespace

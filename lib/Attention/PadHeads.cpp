//===- PadHeads.cpp - Head sizes that fill tiles --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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
static Value copyRows(OpBuilder &b, Location loc, Value rows, Value padded) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(3);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, padded);
  int64_t rest = cast<RankedTensorType>(padded.getType()).getDimSize(3) - size;
  SmallVector<OpFoldResult> offsets(4, zero), strides(4, one);
  auto update = [&](int64_t first, int64_t count,
                    function_ref<Value(Value)> compute) {
    offsets[3] = b.getIndexAttr(first);
    sizes[3] = b.getIndexAttr(count);
    Value part =
        tensor::ExtractSliceOp::create(b, loc, padded, offsets, sizes, strides);
    padded = tensor::InsertSliceOp::create(b, loc, compute(part), padded,
                                           offsets, sizes, strides);
  };
  update(size, rest, [&](Value part) {
    Type type = getElementTypeOrSelf(part.getType());
    Value number = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0.0));
    return linalg::FillOp::create(b, loc, number, part).getResult(0);
  });
  update(0, size, [&](Value part) {
    return linalg::CopyOp::create(b, loc, rows, part).getResult(0);
  });
  return padded;
}

/// A tensor `(B, H, S, D)` with `size` elements in each row, in parallel.
static Value pad(OpBuilder &b, Location loc, Value tensor, int64_t size) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
  SmallVector<OpFoldResult> ends(sizes);
  ends.pop_back();
  sizes[3] = b.getIndexAttr(size);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  auto loop =
      scf::ForallOp::create(b, loc, SmallVector<OpFoldResult>(3, zero), ends,
                            {one, one, b.getIndexAttr(kRowsPerTile)}, empty,
                            /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<OpFoldResult> at =
      llvm::to_vector_of<OpFoldResult>(loop.getInductionVars());
  at.push_back(zero);
  AffineMap rest =
      AffineMap::get(1, 1,
                     {b.getAffineConstantExpr(kRowsPerTile),
                      b.getAffineSymbolExpr(0) - b.getAffineDimExpr(0)},
                     b.getContext());
  OpFoldResult rows =
      affine::makeComposedFoldedAffineMin(b, loc, rest, {at[2], ends[2]});
  SmallVector<OpFoldResult> strides(4, one);
  auto slice = [&](Value from, int64_t width) -> Value {
    SmallVector<OpFoldResult> extent = {one, one, rows, b.getIndexAttr(width)};
    return tensor::ExtractSliceOp::create(b, loc, from, at, extent, strides);
  };
  Value padded = copyRows(b, loc, slice(tensor, type.getDimSize(3)),
                          slice(loop.getRegionIterArgs()[0], size));
  b.setInsertionPointToStart(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(
      b, loc, padded, loop.getRegionIterArgs()[0], at,
      SmallVector<OpFoldResult>{one, one, rows, b.getIndexAttr(size)}, strides);
  return loop.getResult(0);
}

/// Pads the rows of query and key with 0, in parallel, to `padded` elements,
/// which changes no score.
static void padHeads(RewriterBase &rewriter, AttentionOp op, int64_t padded) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  std::optional<double> scale = op.getConstantScale();
  Value query = pad(rewriter, loc, op.getQuery(), padded);
  Value key = pad(rewriter, loc, op.getKey(), padded);
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

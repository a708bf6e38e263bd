//===- FillEmptyAttention.cpp - Attention to no keys ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/AttentionTile.h"
#include "lib/GPU/Passes.h"

#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_FILLEMPTYATTENTION
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The sink of a row as its log-sum-exp, A14; -inf of one that is of no
/// sequence, A7.
static Value emitSinks(IndexBuilder &b, AttentionOp op) {
  Value sink = op.getSink(), out = op.getLogSumExp();
  AffineExpr head = b.getAffineDimExpr(1), row = b.getAffineDimExpr(2);
  bool isPerRow = cast<RankedTensorType>(sink.getType()).getRank() == 2;
  AffineMap read = isPerRow ? AffineMap::get(3, 0, {head, row}, b.getContext())
                            : AffineMap::get(3, 0, head);
  Type type = getElementTypeOrSelf(out);
  return b.generic(
      sink, out, {read, b.getMultiDimIdentityMap(3)}, [&](ValueRange e) {
        Value all = b.convert(e[0], type);
        if (!op.isRagged())
          return all;
        Value isSome = emitIsOfSequence(b, op, b.iteration(0), b.iteration(2));
        return b.select(isSome, all, b.real(type, -infinity));
      });
}

/// What `op` is, if its type says that it is empty.
static SmallVector<Value> emitEmpty(RewriterBase &rewriter, AttentionOp op) {
  ShapedType query = op.getQueryType();
  if (query.getDimSize(0) == 0 || query.getDimSize(2) == 0)
    return op.getOuts();
  IndexBuilder b(op.getLoc(), rewriter);
  SmallVector<Value> results = {b.fillWithZero(op.getOutput())};
  if (Value out = op.getLogSumExp())
    results.push_back(
        op.getSink()
            ? emitSinks(b, op)
            : b.fill(out, b.real(getElementTypeOrSelf(out), -infinity)));
  return results;
}

namespace {
struct FillEmptyAttention
    : attn::impl::FillEmptyAttentionBase<FillEmptyAttention> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionOp op) {
      if (op->getNumResults() == 0 || !op.isKnownEmpty())
        return;
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, emitEmpty(rewriter, op));
    });
  }
};
} // namespace

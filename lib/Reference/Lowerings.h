//===- Lowerings.h - Patterns of the reference lowering ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_LOWERINGS_H
#define ATTN_REFERENCE_LOWERINGS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces an op on tensors by what `Lowering` emits for it, if it can be
/// prepared.
template <typename Op, typename Lowering>
struct LowerOp : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    Lowering lowering(op, rewriter);
    if constexpr (requires { lowering.prepare(); })
      if (failed(lowering.prepare()))
        return failure();
    rewriter.replaceOp(op, lowering.emit());
    return success();
  }
};

/// The same of an op that is fused with its user where only its size is asked
/// for.
template <typename Op, typename Lowering>
struct LowerRowOp : LowerOp<Op, Lowering> {
  using LowerOp<Op, Lowering>::LowerOp;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0 ||
        !llvm::all_of(op->getUsers(), llvm::IsaPred<tensor::DimOp>))
      return LowerOp<Op, Lowering>::matchAndRewrite(op, rewriter);
    rewriter.replaceOp(op, op.getOuts());
    return success();
  }
};

// Of ops on tensors, to linalg.
void populateAttentionLowering(RewritePatternSet &patterns);
void populateBackwardLowering(RewritePatternSet &patterns);
void populateTangentLowering(RewritePatternSet &patterns);
void populateMultiTokenLowerings(RewritePatternSet &patterns);
void populateMultiTokenBackwardLowering(RewritePatternSet &patterns);
/// Of attn.cache_append and attn.cache_read.
void populateCacheLowerings(RewritePatternSet &patterns);
/// Of attn.rope and attn.merge.
void populateLayerLowerings(RewritePatternSet &patterns);
void populateProjectionLowerings(RewritePatternSet &patterns);
/// Of attn.head_norm and attn.dropout.
void populateRowLowerings(RewritePatternSet &patterns);

} // namespace mlir::attn

#endif // ATTN_REFERENCE_LOWERINGS_H

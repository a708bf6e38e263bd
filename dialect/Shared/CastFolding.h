//===- CastFolding.h - Casts of operands into an op -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_CASTFOLDING_H
#define ATTN_DIALECT_SHARED_CASTFOLDING_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::attn {

/// Casts to less static types are folded into the op, and results have the
/// types of their destinations. Upstream does this for all destination-style
/// ops, by a clone that crashes on a region that is empty, as an absent score
/// or mask is; the higher benefit keeps it away.
template <typename Op> struct FoldCasts : OpRewritePattern<Op> {
  explicit FoldCasts(MLIRContext *context)
      : OpRewritePattern<Op>(context, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    rewriter.setInsertionPointAfter(op);
    auto destination = dyn_cast<DestinationStyleOpInterface>(*op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto cast = operand.get().getDefiningOp<tensor::CastOp>();
      if (!cast || !tensor::canFoldIntoConsumerOp(cast))
        continue;
      changed = true;
      rewriter.modifyOpInPlace(op, [&] { operand.set(cast.getSource()); });
      if (!destination || !destination.isDpsInit(&operand))
        continue;
      OpResult result = destination.getTiedOpResult(&operand);
      Type type = result.getType();
      rewriter.modifyOpInPlace(
          op, [&] { result.setType(cast.getSource().getType()); });
      auto back = tensor::CastOp::create(rewriter, op.getLoc(), type, result);
      rewriter.replaceAllUsesExcept(result, back, back);
    }
    return success(changed);
  }
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_CASTFOLDING_H

//===- FoldTrivialComparisons.cpp - Comparisons that compare nothing ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FOLDTRIVIALCOMPARISONS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Replaces comparisons in `root` that are always true or always false by
/// constants.
static void foldTrivialComparisons(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](arith::CmpFOp op) {
    bool isTrue = op.getPredicate() == arith::CmpFPredicate::AlwaysTrue;
    if (!isTrue && op.getPredicate() != arith::CmpFPredicate::AlwaysFalse)
      return;
    TypedAttr value = rewriter.getBoolAttr(isTrue);
    if (auto shaped = dyn_cast<ShapedType>(op.getType())) {
      if (!shaped.hasStaticShape())
        return;
      value = DenseElementsAttr::get(shaped, isTrue);
    }
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
  });
}

namespace {
struct FoldTrivialComparisons
    : attn::impl::FoldTrivialComparisonsBase<FoldTrivialComparisons> {
  void runOnOperation() override { foldTrivialComparisons(getOperation()); }
};
} // namespace

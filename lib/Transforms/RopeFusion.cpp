//===- RopeFusion.cpp - Rows that are rotated where they are used ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/RopeFusion.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether one operation reads `value`, beside those that ask for a size.
static bool hasOneReader(Value value) {
  return llvm::count_if(value.getUsers(), [](Operation *user) {
           return !isa<tensor::DimOp>(user);
         }) == 1;
}

/// The result that `value` is a reshape of.
static Value skipReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

RopeOp attn::getFusableRope(Value rows) {
  for (Value value = rows;;) {
    if (!hasOneReader(value))
      return nullptr;
    Operation *op = value.getDefiningOp();
    if (auto rope = dyn_cast_or_null<RopeOp>(op))
      return rope;
    if (!isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
}

FailureOr<RopeOp> attn::fuseRope(RewriterBase &rewriter, RopeOp rope,
                                 tensor::ExtractSliceOp slice,
                                 Value destination) {
  Value result = rope->getResult(0);
  if (slice.getSource() != result) {
    OpOperand &use = *slice->use_begin();
    RewritePatternSet patterns(rewriter.getContext());
    tensor::populateBubbleUpExtractSliceOpPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(slice.getOperation(), std::move(patterns),
                                  config);
    slice = skipReshapes(use.get()).getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getSource() != result)
      return failure();
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(slice);
  FailureOr<TilingResult> tile = tensor::replaceExtractSliceWithTiledProducer(
      rewriter, slice, cast<OpResult>(result));
  if (failed(tile))
    return failure();
  auto part = cast<RopeOp>(tile->tiledOps.front());
  if (!destination) {
    rewriter.setInsertionPoint(part);
    destination =
        tensor::EmptyOp::create(rewriter, rope.getLoc(), slice.getMixedSizes(),
                                rope.getInputType().getElementType());
  }
  rewriter.modifyOpInPlace(part,
                           [&] { part.getOutsMutable().assign(destination); });
  rewriter.replaceOp(slice, part->getResults());
  return part;
}

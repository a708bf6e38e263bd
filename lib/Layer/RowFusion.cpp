//===- RowFusion.cpp - Rows that are computed where they are used ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layer/RowFusion.h"

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

/// The op on rows that computes `rows`, perhaps as a reshape of its result, if
/// nothing else reads them; or null.
static TilingInterface getProducer(Value rows) {
  for (Value value = rows; hasOneReader(value);) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<HeadNormOp, RopeOp>(op))
      return cast<TilingInterface>(op);
    if (!isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return nullptr;
}

SmallVector<TilingInterface> attn::getFusableRows(Value rows) {
  SmallVector<TilingInterface> ops;
  while (TilingInterface op = getProducer(rows)) {
    ops.push_back(op);
    rows = op->getOperand(0);
  }
  return ops;
}

/// Replaces `slice`, of the result of `op` or of a reshape of it.
static FailureOr<Operation *> fuse(RewriterBase &rewriter, TilingInterface op,
                                   tensor::ExtractSliceOp slice,
                                   Value destination) {
  OpResult result = op->getResult(0);
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
  FailureOr<TilingResult> tile =
      tensor::replaceExtractSliceWithTiledProducer(rewriter, slice, result);
  if (failed(tile))
    return failure();
  Operation *part = tile->tiledOps.front();
  if (!destination) {
    rewriter.setInsertionPoint(part);
    destination =
        tensor::EmptyOp::create(rewriter, op.getLoc(), slice.getMixedSizes(),
                                slice.getType().getElementType());
  }
  rewriter.modifyOpInPlace(part, [&] {
    cast<DestinationStyleOpInterface>(part).setDpsInitOperand(0, destination);
  });
  rewriter.replaceOp(slice, part->getResults());
  return part;
}

FailureOr<Value> attn::fuseRows(RewriterBase &rewriter,
                                ArrayRef<TilingInterface> ops,
                                tensor::ExtractSliceOp slice,
                                Value destination) {
  Value rows;
  for (TilingInterface op : ops) {
    FailureOr<Operation *> part = fuse(rewriter, op, slice, destination);
    if (failed(part))
      break;
    if (!rows)
      rows = (*part)->getResult(0);
    destination = nullptr;
    // Of the rows that the next of the ops computes.
    slice = (*part)->getOperand(0).getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice)
      break;
  }
  if (!rows)
    return failure();
  return rows;
}

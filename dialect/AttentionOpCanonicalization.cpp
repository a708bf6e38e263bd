//===- AttentionOpCanonicalization.cpp - attn.attention: canonical form ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/CastFolding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A region of the op with its captures.
struct CapturingRegion {
  Region *region;
  MutableOperandRange captures;
  unsigned leading;

  Block &block() { return region->front(); }
  Value yielded() { return cast<YieldOp>(block().back()).getValue(); }
  BlockArgument argument(unsigned capture) {
    return block().getArgument(leading + capture);
  }
  void eraseCapture(unsigned capture) {
    block().eraseArgument(leading + capture);
    captures.erase(capture);
  }
  void erase(RewriterBase &rewriter) {
    rewriter.eraseBlock(&block());
    captures.clear();
  }
};

SmallVector<CapturingRegion, 2> getCapturingRegions(AttentionOp op) {
  SmallVector<CapturingRegion, 2> result;
  if (op.hasScore())
    result.push_back({&op.getScore(), op.getScoreCapturesMutable(),
                      AttentionOp::kNumScoreArguments});
  if (op.hasMask())
    result.push_back({&op.getMask(), op.getMaskCapturesMutable(),
                      AttentionOp::kNumMaskArguments});
  return result;
}

/// A score that yields its input and a mask that is always true disappear.
struct EraseTrivialRegion : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    for (CapturingRegion region : getCapturingRegions(op)) {
      bool isScore = region.region == &op.getScore();
      if (isScore ? region.yielded() == region.block().getArgument(0)
                  : matchPattern(region.yielded(), m_One())) {
        rewriter.modifyOpInPlace(op, [&] { region.erase(rewriter); });
        return success();
      }
    }
    return failure();
  }
};

/// Captures that the region does not use disappear, captures of the same value
/// are merged, constant scalars move into the region, and an argument takes the
/// more static type of its capture.
struct SimplifyCaptures : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    for (const CapturingRegion &region : getCapturingRegions(op))
      for (unsigned capture = 0; capture < region.captures.size(); ++capture)
        if (simplify(op, region, capture, rewriter))
          return success();
    return failure();
  }

private:
  static bool simplify(AttentionOp op, CapturingRegion region, unsigned capture,
                       PatternRewriter &rewriter) {
    BlockArgument argument = region.argument(capture);
    Value operand = region.captures[capture].get();
    if (!argument.use_empty()) {
      Value replacement = replacementFor(region, capture, rewriter);
      if (!replacement) {
        if (argument.getType() == operand.getType())
          return false;
        rewriter.modifyOpInPlace(op,
                                 [&] { argument.setType(operand.getType()); });
        return true;
      }
      rewriter.replaceAllUsesWith(argument, replacement);
    }
    rewriter.modifyOpInPlace(op, [&] { region.eraseCapture(capture); });
    return true;
  }

  static Value replacementFor(CapturingRegion region, unsigned capture,
                              PatternRewriter &rewriter) {
    Value operand = region.captures[capture].get();
    for (unsigned other = 0; other < capture; ++other)
      if (region.captures[other].get() == operand &&
          region.argument(other).getType() ==
              region.argument(capture).getType())
        return region.argument(other);
    // Not a clone, because any dialect may have constants (A11).
    TypedAttr constant;
    if (!operand.getType().isIntOrIndexOrFloat() ||
        !matchPattern(operand, m_Constant(&constant)) ||
        !arith::ConstantOp::isBuildableWith(constant, operand.getType()))
      return nullptr;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&region.block());
    return arith::ConstantOp::create(rewriter, operand.getLoc(), constant);
  }
};

/// A constant scale becomes an attribute; the default one is left out.
struct FoldScale : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (FloatAttr scale = op.getStaticScaleAttr()) {
      if (scale.getValueAsDouble() != op.getDefaultScale())
        return failure();
      rewriter.modifyOpInPlace(op, [&] { op.removeStaticScaleAttr(); });
      return success();
    }
    FloatAttr constant;
    if (!op.getScale() || !matchPattern(op.getScale(), m_Constant(&constant)) ||
        !constant.getValue().isFinite()) // A4
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getScaleMutable().clear();
      op.setStaticScaleAttr(
          rewriter.getF64FloatAttr(constant.getValueAsDouble()));
    });
    return success();
  }
};

/// An offset of 0 and a dropout rate of 0 are left out.
struct EraseZeros : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getOffset() && matchPattern(op.getOffset(), m_Zero())) {
      rewriter.modifyOpInPlace(op, [&] { op.getOffsetMutable().clear(); });
      return success();
    }
    if (op.hasDropout() && op.getDropoutRate()->isZero()) {
      rewriter.modifyOpInPlace(op, [&] {
        op.removeDropoutRateAttr();
        op.getDropoutSeedMutable().clear();
        op.getDropoutCallMutable().clear();
      });
      return success();
    }
    return failure();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<EraseTrivialRegion, SimplifyCaptures, FoldScale, EraseZeros,
               FoldCasts<AttentionOp>>(context);
}

//===- AttentionOpCanonicalization.cpp - Canonical forms ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/CastFolding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
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

template <typename Op>
SmallVector<CapturingRegion, 2> getCapturingRegions(Op op) {
  SmallVector<CapturingRegion, 2> result;
  if (op.hasScore())
    result.push_back(
        {&op.getScore(), op.getScoreCapturesMutable(), Op::kNumScoreArguments});
  if (op.hasMask())
    result.push_back(
        {&op.getMask(), op.getMaskCapturesMutable(), Op::kNumMaskArguments});
  return result;
}

/// A score that yields its input and a mask that is always true disappear.
template <typename Op> struct EraseTrivialRegion : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
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
template <typename Op> struct SimplifyCaptures : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    for (const CapturingRegion &region : getCapturingRegions(op))
      for (unsigned capture = 0; capture < region.captures.size(); ++capture)
        if (simplify(op, region, capture, rewriter))
          return success();
    return failure();
  }

private:
  static bool simplify(Op op, CapturingRegion region, unsigned capture,
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
template <typename Op> struct FoldScale : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
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
template <typename Op> struct EraseZeros : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op.getOffset() && matchPattern(op.getOffset(), m_Zero())) {
      rewriter.modifyOpInPlace(op, [&] { op.getOffsetMutable().clear(); });
      return success();
    }
    if (op.hasDropout() && op.getDropoutRate()->isZero()) {
      rewriter.modifyOpInPlace(op, [&] {
        if constexpr (std::is_same_v<Op, AttentionOp>) {
          op.removeDropout();
        } else {
          op.removeDropoutRateAttr();
          op.getDropoutSeedMutable().clear();
          op.getDropoutCallMutable().clear();
        }
      });
      return success();
    }
    return failure();
  }
};

/// T9: whether a kernel `(Hq, [ch,] cq, ck)` or the weights of mixing
/// `(Hq / ch, ch, ch)` change nothing.
bool isIdentity(Value operand, bool isKernel) {
  DenseFPElementsAttr elements;
  if (!operand || !matchPattern(operand, m_Constant(&elements)))
    return false;
  ArrayRef<int64_t> shape = elements.getType().getShape();
  // One number for any size; with more than one per head, an identity has two.
  if (elements.isSplat())
    return llvm::all_of(shape.drop_front(),
                        [](int64_t size) { return size == 1; }) &&
           elements.getSplatValue<APFloat>().isExactlyValue(1.0);
  int64_t rank = int64_t(shape.size());
  int64_t mixed = isKernel && rank == 3 ? 1 : shape[1];
  int64_t taps = isKernel ? shape[rank - 2] * shape[rank - 1] : 1;
  int64_t center = isKernel ? taps - 1 - shape[rank - 1] / 2 : 0;
  for (auto [number, element] :
       llvm::enumerate(elements.getValues<APFloat>())) {
    // Of a kernel, head that is written and head that is read; of weights, the
    // other way round.
    int64_t row = int64_t(number) / taps, tap = int64_t(number) % taps;
    int64_t first = row / mixed % mixed, second = row % mixed;
    bool isOne = first == second && tap == center;
    if (isOne ? !element.isExactlyValue(1.0) : !element.isZero())
      return false;
  }
  return true;
}

/// Stages that change nothing disappear.
struct EraseIdentityStages : OpRewritePattern<MultiTokenAttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MultiTokenAttentionOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [operand, range, isKernel] :
         {std::tuple(op.getKernelBefore(), op.getKernelBeforeMutable(), true),
          std::tuple(op.getMixingBefore(), op.getMixingBeforeMutable(), false),
          std::tuple(op.getKernelAfter(), op.getKernelAfterMutable(), true),
          std::tuple(op.getMixingAfter(), op.getMixingAfterMutable(), false)}) {
      if (!isIdentity(operand, isKernel))
        continue;
      MutableOperandRange identity = range;
      rewriter.modifyOpInPlace(op, [&] { identity.clear(); });
      return success();
    }
    return failure();
  }
};

/// Without stages, this is attn.attention of the queries that are no past.
struct ToAttention : OpRewritePattern<MultiTokenAttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MultiTokenAttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKernelBefore() || op.getMixingBefore() || op.getKernelAfter() ||
        op.getMixingAfter())
      return rewriter.notifyMatchFailure(op, "it has stages");
    Value query = op.getQuery(), offset = op.getOffset();
    if (!hasNoPast(op)) {
      // Upstream has slices without rows invalid.
      if (!isa<RankedTensorType>(query.getType()) ||
          cast<ShapedType>(op.getOutput().getType()).getDimSize(2) == 0)
        return rewriter.notifyMatchFailure(op, "its past cannot be sliced off");
      std::tie(query, offset) = emitWithoutPast(op, rewriter);
    }
    auto attention = AttentionOp::create(
        rewriter, op.getLoc(), query, op.getKey(), op.getValue(), op.getOuts());
    if (op.getScale())
      attention.getScaleMutable().assign(op.getScale());
    if (offset)
      attention.getOffsetMutable().assign(offset);
    if (op.getSink())
      attention.getSinkMutable().assign(op.getSink());
    if (op.getDropoutSeed())
      attention.getDropoutSeedMutable().assign(op.getDropoutSeed());
    if (op.getDropoutCall())
      attention.getDropoutCallMutable().assign(op.getDropoutCall());
    attention.getScoreCapturesMutable().assign(op.getScoreCaptures());
    attention.getMaskCapturesMutable().assign(op.getMaskCaptures());
    attention.setStaticScaleAttr(op.getStaticScaleAttr());
    attention.setBottomRight(op.getBottomRight());
    attention.setDropoutRateAttr(op.getDropoutRateAttr());
    attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getScore(), attention.getScore(),
                                attention.getScore().end());
    rewriter.inlineRegionBefore(op.getMask(), attention.getMask(),
                                attention.getMask().end());
    rewriter.replaceOp(op, attention.getResults());
    return success();
  }

private:
  /// Whether the output has as many rows as the query, by their types or by
  /// what the output was made of.
  static bool hasNoPast(MultiTokenAttentionOp op) {
    int64_t rows = cast<ShapedType>(op.getOutput().getType()).getDimSize(2);
    if (!ShapedType::isDynamic(rows))
      return rows == op.getQueryType().getDimSize(2);
    auto empty = op.getOutput().getDefiningOp<tensor::EmptyOp>();
    if (!empty)
      return false;
    auto dim = empty.getDynamicSize(2).getDefiningOp<tensor::DimOp>();
    return dim && dim.getSource() == op.getQuery() &&
           dim.getConstantIndex() == 2;
  }

  /// The last rows of the query, as many as the output has, and the offset that
  /// is the position of the first of them (T2).
  static std::pair<Value, Value> emitWithoutPast(MultiTokenAttentionOp op,
                                                 PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    OpFoldResult rows = tensor::getMixedSize(rewriter, loc, op.getOutput(), 2);
    Value numRows = getValueOrCreateConstantIndexOp(rewriter, loc, rows);
    Value numQueries =
        rewriter.createOrFold<tensor::DimOp>(loc, op.getQuery(), 2);
    Value isInside = rewriter.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::sle, numRows, numQueries);
    if (!matchPattern(isInside, m_One())) // What the op's own check would say.
      cf::AssertOp::create(rewriter, loc, isInside,
                           "'attn.multi_token_attention' op operand 'output': "
                           "dimension 2 (output length) is more than the query "
                           "length");
    Value past = rewriter.createOrFold<arith::SubIOp>(loc, numQueries, numRows);
    SmallVector<OpFoldResult> offsets(4, rewriter.getIndexAttr(0)),
        sizes = tensor::getMixedSizes(rewriter, loc, op.getQuery()),
        strides(4, rewriter.getIndexAttr(1));
    offsets[2] = getAsOpFoldResult(past);
    sizes[2] = rows;
    Value query = tensor::ExtractSliceOp::create(rewriter, loc, op.getQuery(),
                                                 offsets, sizes, strides);
    Value offset = op.getOffset();
    if (op.getBottomRight()) // Of the last row, which is the same.
      return {query, nullptr};
    if (!offset)
      return {query, past};
    auto add = [past](OpBuilder &b, Location loc, Value offset) -> Value {
      offset =
          b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), offset);
      return b.createOrFold<arith::AddIOp>(loc, offset, past);
    };
    auto type = dyn_cast<RankedTensorType>(offset.getType());
    if (!type)
      return {query, add(rewriter, loc, offset)};
    SmallVector<Value> dynamic;
    if (type.isDynamicDim(0))
      dynamic.push_back(tensor::DimOp::create(rewriter, loc, offset, 0));
    Value sums = tensor::GenerateOp::create(
        rewriter, loc,
        RankedTensorType::get(type.getShape(), rewriter.getIndexType()),
        dynamic, [&](OpBuilder &b, Location loc, ValueRange n) {
          Value element = tensor::ExtractOp::create(b, loc, offset, n);
          tensor::YieldOp::create(b, loc, add(b, loc, element));
        });
    return {query, sums};
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<EraseTrivialRegion<AttentionOp>, SimplifyCaptures<AttentionOp>,
               FoldScale<AttentionOp>, EraseZeros<AttentionOp>,
               FoldCasts<AttentionOp>>(context);
}

void MultiTokenAttentionOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  using Op = MultiTokenAttentionOp;
  patterns.add<EraseTrivialRegion<Op>, SimplifyCaptures<Op>, FoldScale<Op>,
               EraseZeros<Op>, EraseIdentityStages, ToAttention, FoldCasts<Op>>(
      context);
}

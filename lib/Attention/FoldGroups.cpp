//===- FoldGroups.cpp - Query heads as rows of one head -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Attention/Passes.h"
#include "lib/Attention/Transforms.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FOLDGROUPS
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the op on `(B, Hkv, G * Sq, D)`, of which row `g * Sq + i` is query
/// `i` of head `g` of the group.
class GroupFolding {
public:
  GroupFolding(RewriterBase &rewriter, AttentionOp op)
      : op(op), b(rewriter), loc(op.getLoc()), groupSize(op.getGroupSize()),
        numQueries(op.getQueryType().getDimSize(2)) {}

  SmallVector<Value> emit() {
    Value offset = emitOffset();
    SmallVector<Value> outs;
    for (Value init : op.getOuts())
      outs.push_back(fold(emptyLike(init)));
    Value query = fold(op.getQuery());
    Value sink = op.getSink() ? foldSink() : Value();
    auto folded = cast<AttentionOp>(b.clone(*op));
    folded.getQueryMutable().assign(query);
    folded.getOutsMutable().assign(outs);
    folded.getOffsetMutable().clear();
    if (op.getSink())
      folded.getSinkMutable().assign(sink);
    folded.setBottomRight(false);
    // Its heads are rows of one by now.
    if (PlanAttr plan = getPlan(op))
      folded->setAttr(PlanAttr::kName,
                      PlanAttr::get(op.getContext(), plan.getLayout(),
                                    /*heads=*/1, plan.getRows(),
                                    plan.getLanes(), plan.getHeadSize(),
                                    plan.getKeys(), plan.getChunk(),
                                    /*columns=*/0, /*features=*/0));
    for (auto [result, init] : llvm::zip(folded.getResults(), outs))
      result.setType(cast<RankedTensorType>(init.getType()));
    rewriteRegion(folded.getScore(), 1, folded.getScoreCapturesMutable(),
                  offset);
    rewriteRegion(folded.getMask(), 0, folded.getMaskCapturesMutable(), offset);
    SmallVector<Value> results;
    for (auto [result, init] : llvm::zip(folded.getResults(), op.getOuts()))
      results.push_back(
          linalg::CopyOp::create(b, loc, unfold(result), init).getResult(0));
    return results;
  }

private:
  /// The offset that regions add to the number of a query, a scalar or one for
  /// each batch entry; null if 0.
  Value emitOffset() {
    if (!op.getBottomRight())
      return op.getOffset();
    AffineExpr keys = b.getAffineSymbolExpr(0), rows = b.getAffineSymbolExpr(1);
    return getValueOrCreateConstantIndexOp(
        b, loc,
        affine::makeComposedFoldedAffineApply(
            b, loc, keys - rows,
            {tensor::getMixedSize(b, loc, op.getKey(), 2),
             tensor::getMixedSize(b, loc, op.getQuery(), 2)}));
  }

  /// An empty tensor of the sizes of `tensor`, `(B, Hq, Sq, ...)`, with Sq
  /// static.
  Value emptyLike(Value tensor) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
    sizes[2] = b.getIndexAttr(numQueries);
    return tensor::EmptyOp::create(
        b, loc, sizes,
        cast<RankedTensorType>(tensor.getType()).getElementType());
  }

  SmallVector<ReassociationIndices> groups(unsigned merged, int64_t rank) {
    SmallVector<ReassociationIndices> all;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim == merged + 1)
        all.back().push_back(dim);
      else
        all.push_back({dim});
    return all;
  }

  /// `(B, H, n, ...)` to `(B, H1, n1, ...)` by way of `(B, Hkv, G, Sq, ...)`.
  Value reshape(Value tensor, unsigned split, ArrayRef<int64_t> parts,
                unsigned merged) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[split] = parts[0];
    shape.insert(shape.begin() + split + 1, parts[1]);
    sizes[split] = b.getIndexAttr(parts[0]);
    sizes.insert(sizes.begin() + split + 1, b.getIndexAttr(parts[1]));
    auto rank = static_cast<int64_t>(shape.size());
    Value expanded = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), tensor,
        groups(split, rank), sizes);
    return tensor::CollapseShapeOp::create(b, loc, expanded,
                                           groups(merged, rank));
  }
  Value fold(Value tensor) {
    return reshape(tensor, 1, {op.getNumKeyValueHeads(), groupSize}, 2);
  }
  Value unfold(Value tensor) {
    return reshape(tensor, 2, {groupSize, numQueries}, 1);
  }

  /// The sink of each row, `(Hkv, G * Sq)` (A6).
  Value foldSink() {
    auto type = cast<RankedTensorType>(op.getSink().getType());
    bool isPerHead = type.getRank() == 1;
    SmallVector<int64_t> shape = {op.getNumKeyValueHeads(), groupSize};
    SmallVector<ReassociationIndices> split = {{0, 1}};
    if (!isPerHead) {
      shape.push_back(numQueries);
      split.push_back({2});
    }
    Type elementType = type.getElementType();
    // Heads, and queries where there are sinks of them, as far as known.
    Value cast = b.createOrFold<tensor::CastOp>(
        loc,
        RankedTensorType::get(
            ArrayRef{op.getNumQueryHeads(), numQueries}.take_front(
                type.getRank()),
            elementType),
        op.getSink());
    Value sinks = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, elementType), cast, split);
    if (isPerHead && numQueries == 1)
      return sinks;
    if (isPerHead) {
      shape.push_back(numQueries);
      Value all = tensor::EmptyOp::create(b, loc, shape, elementType);
      sinks =
          linalg::BroadcastOp::create(b, loc, sinks, all, ArrayRef<int64_t>{2})
              ->getResult(0);
    }
    return tensor::CollapseShapeOp::create(
        b, loc, sinks, ArrayRef<ReassociationIndices>{{0}, {1, 2}});
  }

  /// The offset as a capture, of the batch entry.
  Value emitOffsetIn(Block &block, unsigned batchArgument,
                     MutableOperandRange captures, Value offset) {
    captures.append(offset);
    Value added = block.addArgument(offset.getType(), loc);
    if (isa<RankedTensorType>(offset.getType()))
      added = tensor::ExtractOp::create(b, loc, added,
                                        block.getArgument(batchArgument));
    return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), added);
  }

  /// Replaces head and position by what they are of the row and key/value head,
  /// which take their places.
  void rewriteRegion(Region &region, unsigned batchArgument,
                     MutableOperandRange captures, Value offset) {
    if (region.empty())
      return;
    Block &block = region.front();
    unsigned headNumber = batchArgument + 1, rowNumber = batchArgument + 2;
    Value head = block.insertArgument(headNumber, b.getIndexType(), loc);
    Value row = block.insertArgument(rowNumber, b.getIndexType(), loc);
    BlockArgument queryHead = block.getArgument(rowNumber + 1);
    BlockArgument position = block.getArgument(rowNumber + 2);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    Value length = arith::ConstantIndexOp::create(b, loc, numQueries);
    if (!queryHead.use_empty()) {
      Value size = arith::ConstantIndexOp::create(b, loc, groupSize);
      Value first = arith::MulIOp::create(b, loc, head, size);
      Value member = b.createOrFold<arith::DivSIOp>(loc, row, length);
      queryHead.replaceAllUsesWith(
          arith::AddIOp::create(b, loc, first, member));
    }
    if (!position.use_empty()) {
      Value query = numQueries == 1
                        ? Value(arith::ConstantIndexOp::create(b, loc, 0))
                        : arith::RemSIOp::create(b, loc, row, length);
      if (offset)
        query = b.createOrFold<arith::AddIOp>(
            loc, emitOffsetIn(block, batchArgument, captures, offset), query);
      position.replaceAllUsesWith(query);
    }
    block.eraseArguments(rowNumber + 1, 2);
  }

  AttentionOp op;
  RewriterBase &b;
  Location loc;
  int64_t groupSize, numQueries;
};

} // namespace

LogicalResult attn::foldGroup(RewriterBase &rewriter, AttentionOp op) {
  if (op.getGroupSize() == 1 ||
      ShapedType::isDynamic(op.getQueryType().getDimSize(2)))
    return rewriter.notifyMatchFailure(op, "not a group of few queries");
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(op, GroupFolding(rewriter, op).emit());
  return success();
}

namespace {
struct FoldGroups : attn::impl::FoldGroupsBase<FoldGroups> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      if (PlanAttr plan = getPlan(op); plan && plan.getHeads() > 1) {
        if (plan.getHeads() != op.getGroupSize()) {
          op.emitError("expected an attn.plan with 1 or ")
              << op.getGroupSize() << " 'heads', got " << plan.getHeads();
          return signalPassFailure();
        }
        (void)foldGroup(rewriter, op);
      }
  }
};
} // namespace

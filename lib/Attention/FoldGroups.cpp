//===- FoldGroups.cpp - Query heads as rows of one head -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/GroupFolding.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FOLDGROUPS
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the op on `(B, Hkv, Sq * G, D)`, of which row `i * G + g` is query `i`
/// of head `g` of the group: positions never decrease from row to row, so that
/// tiles of rows see as few keys as tiles of queries do.
class GroupFolding {
public:
  GroupFolding(OpBuilder &builder, AttentionOp op, bool isOfAnyStrides = false)
      : op(op), b(op.getLoc(), builder), isOfAnyStrides(isOfAnyStrides),
        groupSize(op.getGroupSize()),
        numQueries(op.getQueryType().getDimSize(2)),
        rows(b.size(op.getQuery(), 2)) {}

  SmallVector<Value> emit() {
    AttentionOp folded = emitFolded();
    SmallVector<Value> results;
    for (auto [result, init] : llvm::zip(folded.getResults(), op.getOuts()))
      results.push_back(b.createOrFold<tensor::CastOp>(
          init.getType(), unfold(result, castToKnown(init, 1))));
    return results;
  }

  AttentionOp emitFolded() {
    Value offset = emitOffset();
    SmallVector<Value> outs;
    for (Value init : op.getOuts())
      outs.push_back(emptyFolded(init));
    Value query = fold(castToKnown(op.getQuery(), 1));
    Value sink = op.getSink() ? foldSink() : Value();
    auto folded = cast<AttentionOp>(b.clone(*op));
    folded.getQueryMutable().assign(query);
    folded.getOutsMutable().assign(outs);
    folded.getOffsetMutable().clear();
    if (op.getSink())
      folded.getSinkMutable().assign(sink);
    folded.setBottomRight(false);
    for (auto [result, init] : llvm::zip(folded.getResults(), outs))
      result.setType(cast<RankedTensorType>(init.getType()));
    rewriteRegion(folded.getScore(), 1, folded.getScoreCapturesMutable(),
                  offset);
    rewriteRegion(folded.getMask(), 0, folded.getMaskCapturesMutable(), offset);
    return folded;
  }

private:
  /// The offset that regions add to the number of a query, a scalar or one for
  /// each batch entry; null if 0.
  Value emitOffset() {
    if (!op.getBottomRight())
      return op.getOffset();
    AffineExpr keys = b.getAffineSymbolExpr(0), rows = b.getAffineSymbolExpr(1);
    return b.index(b.apply(keys - rows,
                           {b.size(op.getKey(), 2), b.size(op.getQuery(), 2)}));
  }

  /// An empty tensor `(B, Hkv, Sq * G, ...)` for a result in `init`.
  Value emptyFolded(Value init) {
    SmallVector<OpFoldResult> sizes = b.sizes(init);
    sizes[1] = heads();
    sizes[2] = b.apply(b.getAffineSymbolExpr(0) * groupSize, rows);
    return b.empty(sizes, getElementTypeOrSelf(init));
  }

  /// `tensor`, whose dimensions from `dim` on are query heads and queries, with
  /// their numbers in its type, as far as they are known.
  Value castToKnown(Value tensor, int64_t dim) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = op.getNumQueryHeads();
    if (dim + 1 < type.getRank() && !ShapedType::isDynamic(numQueries))
      shape[dim + 1] = numQueries;
    return b.createOrFold<tensor::CastOp>(type.clone(shape), tensor);
  }

  /// Dimensions of a tensor of which `first` and the next one are one.
  static SmallVector<ReassociationIndices> groups(int64_t first, size_t rank) {
    SmallVector<ReassociationIndices> all;
    for (auto dim : llvm::seq(int64_t(rank)))
      if (dim == first + 1)
        all.back().push_back(dim);
      else
        all.push_back({dim});
    return all;
  }

  /// Makes dimension `dim` of a tensor two, of which the sizes are given.
  Value expand(Value tensor, int64_t dim, OpFoldResult outer,
               OpFoldResult inner) {
    SmallVector<OpFoldResult> sizes = b.sizes(tensor);
    sizes[dim] = outer;
    sizes.insert(sizes.begin() + dim + 1, inner);
    auto type = RankedTensorType::get(decomposeMixedValues(sizes).first,
                                      getElementTypeOrSelf(tensor));
    return tensor::ExpandShapeOp::create(b, type, tensor,
                                         groups(dim, sizes.size()), sizes);
  }

  /// Makes dimension `dim` of a tensor and the next one the same.
  Value collapse(Value tensor, int64_t dim) {
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    return tensor::CollapseShapeOp::create(b, tensor, groups(dim, rank));
  }

  /// `(B, Hkv, m, n, ...)` as `(B, Hkv, n, m, ...)`, in `into`.
  Value transpose(Value tensor, Value into) {
    auto order = llvm::to_vector(
        llvm::seq(cast<RankedTensorType>(tensor.getType()).getRank()));
    std::swap(order[2], order[3]);
    return b.transpose(tensor, into, order);
  }

  OpFoldResult heads() { return b.getIndexAttr(op.getNumKeyValueHeads()); }
  OpFoldResult group() { return b.getIndexAttr(groupSize); }

  /// `(B, Hq, Sq, ...)` as `(B, Hkv, Sq * G, ...)`.
  Value fold(Value tensor) {
    if (numQueries == 1 && isOfAnyStrides)
      return expand(dropQueries(tensor), 1, heads(), group());
    Value split = expand(tensor, 1, heads(), group());
    if (numQueries != 1) {
      SmallVector<OpFoldResult> sizes = b.sizes(split);
      std::swap(sizes[2], sizes[3]);
      split = transpose(split, b.empty(sizes, getElementTypeOrSelf(tensor)));
    }
    return collapse(split, 2);
  }

  /// `(B, Hq, 1, D)` as `(B, Hq, D)`, in place: of any strides, which collapsed
  /// dimensions are not.
  Value dropQueries(Value tensor) {
    SmallVector<OpFoldResult> sizes = b.sizes(tensor);
    return b.slice(tensor, b.zeros(sizes.size()), sizes,
                   {sizes[0], sizes[1], sizes[3]});
  }

  /// The reverse, in `into`.
  Value unfold(Value tensor, Value into) {
    if (numQueries == 1) {
      Value split = expand(tensor, 2, group(), rows);
      return linalg::CopyOp::create(b, collapse(split, 1), into).getResult(0);
    }
    Value split = transpose(expand(tensor, 2, rows, group()),
                            expand(into, 1, heads(), group()));
    return collapse(split, 1);
  }

  /// The sink of each row, `(Hkv, Sq * G)` (A6).
  Value foldSink() {
    Value sinks = castToKnown(op.getSink(), 0);
    bool isPerHead = cast<RankedTensorType>(sinks.getType()).getRank() == 1;
    Value split = expand(sinks, 0, heads(), group());
    if (isPerHead && numQueries == 1)
      return split;
    Value all = b.empty({heads(), rows, group()}, getElementTypeOrSelf(sinks));
    if (isPerHead)
      split = linalg::BroadcastOp::create(b, split, all, ArrayRef<int64_t>{1})
                  ->getResult(0);
    else
      split = b.transpose(split, all, {0, 2, 1});
    return collapse(split, 1);
  }

  /// The offset as a capture, of the batch entry.
  Value emitOffsetIn(Block &block, unsigned batchArgument,
                     MutableOperandRange captures, Value offset) {
    captures.append(offset);
    Value added = block.addArgument(offset.getType(), b.getLoc());
    if (isa<RankedTensorType>(offset.getType()))
      added = b.load(added, block.getArgument(batchArgument));
    return b.toIndex(added);
  }

  /// Replaces head and position by what they are of the row and key/value head,
  /// which take their places.
  void rewriteRegion(Region &region, unsigned batchArgument,
                     MutableOperandRange captures, Value offset) {
    if (region.empty())
      return;
    Block &block = region.front();
    unsigned headNumber = batchArgument + 1, rowNumber = batchArgument + 2;
    Value head = block.insertArgument(headNumber, b.getIndexType(), b.getLoc());
    Value row = block.insertArgument(rowNumber, b.getIndexType(), b.getLoc());
    BlockArgument queryHead = block.getArgument(rowNumber + 1);
    BlockArgument position = block.getArgument(rowNumber + 2);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    Value size = b.index(groupSize);
    if (!queryHead.use_empty()) {
      Value first = arith::MulIOp::create(b, head, size);
      Value member =
          numQueries == 1 ? row : arith::RemSIOp::create(b, row, size);
      queryHead.replaceAllUsesWith(arith::AddIOp::create(b, first, member));
    }
    if (!position.use_empty()) {
      Value query = numQueries == 1 ? Value(b.index(0))
                                    : arith::DivSIOp::create(b, row, size);
      if (offset)
        query = b.createOrFold<arith::AddIOp>(
            emitOffsetIn(block, batchArgument, captures, offset), query);
      position.replaceAllUsesWith(query);
    }
    block.eraseArguments(rowNumber + 1, 2);
  }

  AttentionOp op;
  IndexBuilder b;
  /// Whether rows of one query are not copied, whatever their strides are.
  /// Buffers for them that others write, as a CPU's have, are no such rows.
  bool isOfAnyStrides;
  int64_t groupSize, numQueries;
  OpFoldResult rows; ///< Sq.
};

} // namespace

AttentionOp attn::emitFoldedGroups(OpBuilder &builder, AttentionOp op) {
  return GroupFolding(builder, op, /*isOfAnyStrides=*/true).emitFolded();
}

/// Makes the query heads of a group rows of one head, if there is a group.
static LogicalResult foldGroup(RewriterBase &rewriter, AttentionOp op) {
  if (op.getGroupSize() == 1 || op.isRagged())
    return rewriter.notifyMatchFailure(op, "not a group of one sequence");
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
    for (AttentionOp op : ops) {
      PlanAttr plan = getPlan(op);
      // What is folded keeps its plan.
      if (!plan || plan.getHeads() <= 1 || op.getGroupSize() == 1)
        continue;
      // The merge of parts of keys writes the rows of heads where they belong.
      if (plan.getLayout() == OnlineLayout::Mma && plan.getChunk() > 0)
        continue;
      if (plan.getHeads() != op.getGroupSize()) {
        op.emitError("expected an attn.plan with 1 or ")
            << op.getGroupSize() << " 'heads', got " << plan.getHeads();
        return signalPassFailure();
      }
      if (op.hasDropout()) { // Rows of one line have one head.
        op.emitError("expected an attn.plan with 1 'heads' with dropout, got ")
            << plan.getHeads();
        return signalPassFailure();
      }
      (void)foldGroup(rewriter, op);
    }
  }
};
} // namespace

//===- SummarizeTables.cpp - Ranges of blocks of captured tensors ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Attention/AttentionTile.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SUMMARIZETABLES
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr StringRef kHidesNone = "hides no block of keys as a whole, because ";

/// Says which conditions of a mask hide no keys but one by one, unless a remark
/// on what they load has said so.
void remarkOnConditions(AttentionOp op,
                        const DenseSet<Operation *> &withoutRange) {
  if (!op.hasMask())
    return;
  OpBuilder builder(op);
  for (Operation *condition : findUnknownConditions(
           builder, op.getLoc(), op.getMask(), op.getMaskCaptures())) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitBlockArguments = true;
    (void)getBackwardSlice(condition, &slice, options);
    if (llvm::any_of(slice, [&](Operation *operand) {
          return withoutRange.contains(operand);
        }))
      continue;
    condition->emitRemark()
        << kHidesNone
        << (isa<arith::CmpFOp>(condition)
                ? "no bounds are known of a float that it compares"
                : "what it compares has no bounds in a block of keys");
  }
}

} // namespace

/// Right after the tables' definitions.
static void emitBlockRanges(RewriterBase &rewriter, BlockSizes &tables) {
  for (auto &[table, sizes] : tables) {
    rewriter.setInsertionPointAfterValue(table);
    emitBlockRange(rewriter, table, sizes);
  }
}

void attn::summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                           TileShape tile) {
  BlockSizes tables;
  DenseSet<Operation *> withoutRange;
  for (AttentionOp op : ops) {
    addBlockSizes(op, op.getMask(), tile, tables, [&](Operation *load) {
      load->emitRemark()
          << kHidesNone
          << "its index is neither loaded nor a sum, difference, quotient or "
             "remainder of positions";
      withoutRange.insert(load);
    });
    addBlockSizes(op, op.getScore(), tile, tables, [](Operation *) {});
  }
  emitBlockRanges(rewriter, tables);
  for (AttentionOp op : ops)
    remarkOnConditions(op, withoutRange);
}

/// The same for derivatives that are computed in tiles.
template <typename Op>
static void summarizeTablesOf(RewriterBase &rewriter, Operation *root) {
  BlockSizes tables;
  root->walk([&](Op op) {
    PlanAttr plan = getPlan(op);
    if (!plan)
      return;
    for (Region *region : {&op.getMask(), &op.getScore()})
      addBlockSizes(op, *region, {plan.getRows(), plan.getKeys()}, tables,
                    [](Operation *) {});
  });
  emitBlockRanges(rewriter, tables);
}

namespace {
struct SummarizeTables : attn::impl::SummarizeTablesBase<SummarizeTables> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    summarizeTablesOf<AttentionBackwardOp>(rewriter, getOperation());
    summarizeTablesOf<AttentionTangentOp>(rewriter, getOperation());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    // Those of the largest tile: with the form for one query that is beside
    // others, ranges would be of single elements.
    TileShape tile = {0, 0};
    for (AttentionOp op : ops)
      if (PlanAttr plan = getPlan(op); plan && plan.getRows() > tile.queries)
        tile = {plan.getRows(), plan.getKeys()};
    if (tile.queries == 0)
      return;
    summarizeTables(rewriter, ops, tile);
  }
};
} // namespace

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
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetOperations.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SUMMARIZETABLES
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The sizes of blocks of captured tensors, each the smallest that a load asks
/// for.
using BlockSizes = llvm::MapVector<Value, SmallVector<int64_t>>;

constexpr StringRef kHidesNone = "hides no block of keys as a whole, because ";

/// Whether another load of the region is at an index that `load` makes.
bool decidesIndex(Operation *load) {
  SetVector<Operation *> users;
  getForwardSlice(load, &users);
  return llvm::any_of(users, [](Operation *user) {
    return TableLoad::match(user).has_value();
  });
}

/// Adds the sizes for a region of `op` to `tables`: of a mask for all that it
/// loads, of a score for what says where it loads. Gives the loads that have
/// none.
DenseSet<Operation *> addBlockSizes(AttentionOp op, Region &region,
                                    TileShape tile, BlockSizes &tables) {
  DenseSet<Operation *> withoutRange;
  if (region.empty())
    return withoutRange;
  IndexMovements movements(region);
  for (Operation &operation : region.front().without_terminator()) {
    std::optional<TableLoad> load = TableLoad::match(&operation);
    if (!load || llvm::all_of(load->indices, [&](Value index) {
          std::optional<IndexMovement> movement = movements.find(index);
          return movement && movement->isConstant();
        }))
      continue;
    bool isOfMask = &region == &op.getMask();
    auto argument = dyn_cast<BlockArgument>(load->table);
    if (!argument || argument.getOwner() != &region.front() ||
        (!isOfMask && !decidesIndex(&operation)))
      continue;
    Value table = op.getCapture(argument);
    if (!isa<RankedTensorType>(table.getType()) ||
        table.getDefiningOp<WithBlockRangeOp>())
      continue;
    std::optional<SmallVector<int64_t>> sizes =
        findBlockSizes(movements, *load, tile);
    if (!sizes) {
      if (isOfMask)
        operation.emitRemark()
            << kHidesNone
            << "its index is neither loaded nor a sum, difference, quotient or "
               "remainder of positions";
      withoutRange.insert(&operation);
      continue;
    }
    auto [known, isNew] = tables.try_emplace(table, *sizes);
    if (isNew)
      continue;
    for (auto [size, other] : llvm::zip_equal(known->second, *sizes))
      size = std::min(size, other);
  }
  return withoutRange;
}

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

void attn::summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                           TileShape tile) {
  BlockSizes tables;
  DenseSet<Operation *> withoutRange;
  for (AttentionOp op : ops) {
    set_union(withoutRange, addBlockSizes(op, op.getMask(), tile, tables));
    (void)addBlockSizes(op, op.getScore(), tile, tables);
  }
  for (auto &[table, sizes] : tables) {
    // The elements themselves are as few.
    bool isSmall = llvm::all_of(sizes, [](int64_t size) { return size == 1; });
    if (isSmall)
      continue;
    rewriter.setInsertionPointAfterValue(table);
    emitBlockRange(rewriter, table, sizes);
  }
  for (AttentionOp op : ops)
    remarkOnConditions(op, withoutRange);
}

namespace {
struct SummarizeTables : attn::impl::SummarizeTablesBase<SummarizeTables> {
  void runOnOperation() override {
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
    IRRewriter rewriter(&getContext());
    summarizeTables(rewriter, ops, tile);
  }
};
} // namespace

//===- PlanPacks.cpp - Where rows are packed ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Plan/Plan.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/SymbolicNumber.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Emits the ranges of the tables that a mask reads, as attn-summarize-tables
/// does later on.
static void emitTableRanges(OpBuilder &b, AttentionOp op, TileShape tile) {
  IndexMovements movements(op.getMask());
  for (Operation &operation : op.getMask().front().without_terminator()) {
    std::optional<TableLoad> load = TableLoad::match(&operation);
    auto argument =
        load ? dyn_cast<BlockArgument>(load->table) : BlockArgument();
    if (!argument || argument.getOwner() != &op.getMask().front())
      continue;
    Value table = op.getCapture(argument);
    std::optional<SmallVector<int64_t>> sizes =
        findBlockSizes(movements, *load, tile);
    if (isa<RankedTensorType>(table.getType()) && sizes &&
        !llvm::all_of(*sizes, [](int64_t size) { return size == 1; }))
      emitBlockRange(b, table, *sizes);
  }
}

/// Whether every tile sees the first key that there is, so that what it sees of
/// a head does not begin further on for later tiles.
static bool seesFirstKey(AttentionOp op, TileShape tile) {
  if (!op.hasMask())
    return true;
  OpBuilder builder(op);
  IndexBuilder b(op.getLoc(), builder);
  EmittedCode code(b);
  SmallVector<OpFoldResult> ends = b.sizes(op.getQuery());
  ends.pop_back();
  Value numQueries = b.dim(op.getQuery(), 2), numKeys = b.dim(op.getKey(), 2);
  bool result = false;
  {
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp tiles = b.enterForall(ends, {}, b.fold({1, 1, tile.queries}));
    emitTableRanges(b, op, tile);
    SmallVector<Value> ivs(tiles.getInductionVars());
    if (!hasBlocksOfKeys(b, op.getMask(), op.getMaskCaptures())) {
      Value first =
          b.add(op.createFirstPosition(b, ivs[0], numQueries, numKeys), ivs[2]);
      Value last = b.add(first, b.index(tile.queries - 1));
      VisibleKeys keys =
          emitVisibleKeys(b, b.getLoc(), op.getMask(), ivs[0], ivs[1],
                          {first, last}, numKeys, op.getMaskCaptures());
      result = matchPattern(keys.begin, m_Zero());
    }
    tiles->erase();
  }
  code.eraseAllBut({});
  return result;
}

/// Whether the row or batch entry that `slice` begins at is computed in a loop,
/// as that of a sequence is.
static bool isFoundInLoop(scf::ForallOp loop, tensor::ExtractSliceOp slice) {
  auto isComputed = [&](OpFoldResult number) {
    auto value = dyn_cast<Value>(number);
    return value && value.getDefiningOp() &&
           !loop.isDefinedOutsideOfLoop(value);
  };
  SmallVector<OpFoldResult> at = slice.getMixedOffsets();
  return isComputed(at[0]) || isComputed(at[2]);
}

/// Whether where `query` begins differs between the iterations of a loop.
static bool movesInLoop(scf::ForallOp loop, Value query) {
  auto slice = query.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != 4)
    return false;
  auto first = dyn_cast<Value>(slice.getMixedOffsets()[2]);
  return first && !loop.isDefinedOutsideOfLoop(first);
}

PackChoices::PackChoices(AttentionOp op, bool isTile) {
  auto loop = op->getParentOfType<scf::ForallOp>();
  if (!isTile) {
    // The loop over tiles will be the only one, or in another.
    canKeep = !loop;
    canShare = !op.isRagged();
    hasSeveralTiles = true;
    return;
  }
  auto slice = op.getValue().getDefiningOp<tensor::ExtractSliceOp>();
  canShare = true;
  if (!slice || slice.getSourceType().getRank() != 4)
    return;
  canKeep = !loop->getParentOfType<scf::ForallOp>() &&
            loop.isDefinedOutsideOfLoop(slice.getSource());
  canShare = !isFoundInLoop(loop, slice);
  hasSeveralTiles = movesInLoop(loop, op.getQuery());
}

Packs PackChoices::choose(AttentionOp op, int64_t rows, int64_t keys) const {
  if (!canShare)
    return canKeep ? Packs::Kept : Packs::Block;
  // Where every tile begins at the first key, each thread would pack again what
  // others have. Packs of one window stay in the second-level cache, where
  // those of all heads do not.
  bool movesOn = canKeep && hasSeveralTiles && !seesFirstKey(op, {rows, keys});
  return movesOn ? Packs::Kept : Packs::Shared;
}

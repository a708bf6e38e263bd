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
    // As attn-summarize-tables does later on.
    BlockSizes tables;
    addBlockSizes(op, op.getMask(), tile, tables, [](Operation *) {});
    for (auto &[table, sizes] : tables)
      emitBlockRange(b, table, sizes);
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

/// The slice of a tensor `(B, H, S, D)` that `value` is; or null.
static tensor::ExtractSliceOp getSlice(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.getSourceType().getRank() == 4 ? slice : nullptr;
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
  tensor::ExtractSliceOp values = getSlice(op.getValue()),
                         queries = getSlice(op.getQuery());
  canShare = true;
  if (!values)
    return;
  canKeep = !loop->getParentOfType<scf::ForallOp>() &&
            loop.isDefinedOutsideOfLoop(values.getSource());
  auto isOfIteration = [&](OpFoldResult number) {
    auto value = dyn_cast<Value>(number);
    return value && !loop.isDefinedOutsideOfLoop(value);
  };
  // The row or batch entry of a sequence is computed in the loop.
  SmallVector<OpFoldResult> at = values.getMixedOffsets();
  canShare = llvm::none_of(ArrayRef{at[0], at[2]}, [&](OpFoldResult number) {
    return isOfIteration(number) && cast<Value>(number).getDefiningOp();
  });
  hasSeveralTiles = queries && isOfIteration(queries.getMixedOffsets()[2]);
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

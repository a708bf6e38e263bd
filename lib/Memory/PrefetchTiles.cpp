//===- PrefetchTiles.cpp - The next tile's rows into the cache ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/Passes.h"
#include "lib/Memory/SpreadPrefetch.h"
#include "lib/Memory/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PREFETCHTILES
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// How a view moves with a loop.
struct Movement {
  unsigned dim;
  /// By how many rows in an iteration: the step, or as many back.
  bool isBackward;
  /// Rows for each number of an iteration, as of packs.
  int64_t rows = 1;
};

/// Whether `offset` counts back from an end as `iv` goes on.
bool countsBack(Value offset, Value iv) {
  auto apply = offset.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return false;
  for (auto [number, operand] : llvm::enumerate(apply.getMapOperands()))
    if (operand == iv) {
      AffineMap map = apply.getAffineMap();
      AffineExpr i = number < map.getNumDims()
                         ? getAffineDimExpr(number, map.getContext())
                         : getAffineSymbolExpr(number - map.getNumDims(),
                                               map.getContext());
      AffineExpr rest = simplifyAffineExpr(
          map.getResult(0) + i, map.getNumDims(), map.getNumSymbols());
      return !rest.isFunctionOfDim(number);
    }
  return false;
}

/// How many rows `offset` moves on with each number of `iv` that it is a
/// multiple of; 0 if it is not.
int64_t getMultiple(Value offset, Value iv) {
  auto apply = offset.getDefiningOp<affine::AffineApplyOp>();
  if (!apply || apply.getMapOperands().size() != 1 ||
      apply.getMapOperands()[0] != iv)
    return 0;
  auto product =
      dyn_cast<AffineBinaryOpExpr>(apply.getAffineMap().getResult(0));
  if (!product || product.getKind() != AffineExprKind::Mul)
    return 0;
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  return factor && factor.getValue() > 0 ? factor.getValue() : 0;
}

/// The dimension of a view that moves with a loop, or none. Rows of it must be
/// contiguous in the last dimension.
std::optional<Movement> findMovement(memref::SubViewOp view, Value iv) {
  MemRefType type = view.getSourceType();
  if (type.getRank() < 2 || type.isDynamicDim(type.getRank() - 1) ||
      !type.isLastDimUnitStride() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  for (auto [dim, offset] : llvm::enumerate(view.getMixedOffsets())) {
    auto value = dyn_cast<Value>(offset);
    if (!value || int64_t(dim) + 1 == type.getRank())
      continue;
    if (value == iv)
      return Movement{unsigned(dim), /*isBackward=*/false};
    if (countsBack(value, iv))
      return Movement{unsigned(dim), /*isBackward=*/true};
    if (int64_t rows = getMultiple(value, iv))
      return Movement{unsigned(dim), /*isBackward=*/false, rows};
  }
  return std::nullopt;
}

/// Whether rows are written to `view`, or to a part of it.
bool isWritten(Value view) {
  return llvm::any_of(view.getUses(), [&](OpOperand &use) {
    if (auto part = dyn_cast<memref::SubViewOp>(use.getOwner()))
      return isWritten(part);
    if (auto copy = dyn_cast<memref::CopyOp>(use.getOwner()))
      return copy.getTarget() == view;
    auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    return op && op.isDpsInit(&use);
  });
}

/// A view of rows that moves with the tiles.
struct MovingView {
  memref::SubViewOp view;
  Movement movement;
};

/// The first row of a view.
Value getRow(OpBuilder &b, MovingView moving) {
  return getValueOrCreateConstantIndexOp(
      b, moving.view.getLoc(),
      moving.view.getMixedOffsets()[moving.movement.dim]);
}

/// The rows of `view` that the next iteration moves to, as far as they are in
/// [0, end).
RowRange nextRows(OpBuilder &b, MovingView moving, Value step, Value end) {
  Location loc = moving.view.getLoc();
  Value here = getRow(b, moving);
  if (moving.movement.isBackward) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value before = arith::SubIOp::create(b, loc, here, step);
    return {arith::MaxSIOp::create(b, loc, before, zero), here};
  }
  Value first = arith::AddIOp::create(b, loc, here, step);
  Value after = arith::AddIOp::create(b, loc, first, step);
  return {first, arith::MinSIOp::create(b, loc, after, end)};
}

/// The softmax step in the loop over the blocks of keys of a tile, if any.
OnlineSoftmaxOp findSoftmax(scf::ForallOp loop) {
  OnlineSoftmaxOp softmax;
  loop.walk([&](OnlineSoftmaxOp op) {
    softmax = op;
    return WalkResult::interrupt();
  });
  if (!softmax)
    return nullptr;
  auto keys = softmax->getParentOfType<scf::ForOp>();
  return keys && loop->isProperAncestor(keys) ? softmax : nullptr;
}

} // namespace

/// Prefetches the rows that the next iteration of a loop makes a pack of, where
/// an iteration views as many, from a multiple of its number on.
static void prefetchPackedRows(scf::ForallOp loop) {
  if (!loop.isNormalized())
    return;
  OpBuilder b(loop.getContext());
  Value iv = loop.getInductionVars().back();
  llvm::SmallDenseSet<Value> done;
  loop.getBody()->walk([&](memref::SubViewOp view) {
    std::optional<Movement> movement;
    if (loop.isDefinedOutsideOfLoop(view.getSource()) &&
        llvm::any_of(view->getUsers(), llvm::IsaPred<linalg::TransposeOp>))
      movement = findMovement(view, iv);
    if (!movement || movement->rows == 1 ||
        !done.insert(view.getSource()).second)
      return;
    Location loc = view.getLoc();
    b.setInsertionPoint(loop.getBody()->findAncestorOpInBlock(*view));
    Value rows = arith::ConstantIndexOp::create(b, loc, movement->rows);
    Value end = memref::DimOp::create(b, loc, view.getSource(), movement->dim);
    emitPrefetch(b, loc, view.getSource(), view.getMixedOffsets(),
                 movement->dim, nextRows(b, {view, *movement}, rows, end));
  });
}

/// Prefetches keys of the next head, as many as a tile has queries: those of
/// the first tile of a short head would all be missing.
static void prefetchNextHead(OpBuilder &b, scf::ForallOp loop,
                             SpreadPrefetch &spread, MovingView queries,
                             Value step) {
  SmallVector<Value> ivs = loop.getInductionVars();
  if (ivs.size() < 2)
    return;
  unsigned numHead = ivs.size() - 2;
  for (auto view : loop.getBody()->getOps<memref::SubViewOp>()) {
    SmallVector<OpFoldResult> at = view.getMixedOffsets();
    MemRefType type = view.getSourceType();
    constexpr unsigned dim = 2; // Of batch, head, key and element.
    if (type.getRank() != 4 || at[1] != OpFoldResult(ivs[numHead]) ||
        !isZeroInteger(at[dim]) ||
        !loop.isDefinedOutsideOfLoop(view.getSource()) || !spread.reads(view))
      continue;
    Location loc = view.getLoc();
    spread.setInsertionPointBefore(b, loop);
    auto create = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(b, loc, value);
    };
    Value next = arith::AddIOp::create(b, loc, ivs[numHead],
                                       create(loop.getMixedStep()[numHead]));
    Value length = create(view.getMixedSizes()[dim]);
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, next,
                              create(loop.getMixedUpperBound()[numHead]));
    Value isShort = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::sle, length,
        arith::ConstantIndexOp::create(b, loc, kFarthestKey));
    Value first = getRow(b, queries);
    Value last = arith::MinSIOp::create(
        b, loc, arith::AddIOp::create(b, loc, first, step), length);
    last = arith::SelectOp::create(
        b, loc, arith::AndIOp::create(b, loc, exists, isShort), last, first);
    at[1] = next;
    spread.emit(b, view.getSource(), at, dim, {first, last}, step);
  }
}

void attn::prefetchTiles(scf::ForallOp loop) {
  OpBuilder b(loop.getContext());
  Location loc = loop.getLoc();
  Value iv = loop.getInductionVars().back();
  SmallVector<MovingView> views;
  for (auto view : loop.getBody()->getOps<memref::SubViewOp>())
    if (loop.isDefinedOutsideOfLoop(view.getSource()))
      if (std::optional<Movement> movement = findMovement(view, iv);
          movement && movement->rows == 1)
        views.push_back({view, *movement});
  if (views.empty())
    return;
  auto create = [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(b, loc, size);
  };
  std::optional<SpreadPrefetch> spread;
  if (OnlineSoftmaxOp softmax = findSoftmax(loop))
    spread.emplace(softmax);
  // Of the queries, which come before the keys. Chunks of keys move on without.
  std::optional<MovingView> ofQueries;
  for (auto [view, movement] : views) {
    b.setInsertionPointAfter(view);
    Value step = create(loop.getMixedStep().back());
    RowRange rows = nextRows(b, {view, movement}, step,
                             create(loop.getMixedUpperBound().back()));
    SmallVector<OpFoldResult> at = view.getMixedOffsets();
    if (!spread || !spread->isAfter(view.getResult())) {
      emitPrefetch(b, loc, view.getSource(), at, movement.dim, rows);
      continue;
    }
    spread->emit(b, view.getSource(), at, movement.dim, rows, step);
    if (isWritten(view)) {
      // Stores of a whole tile would wait for one line after the other.
      OpBuilder::InsertionGuard guard(b);
      spread->setInsertionPointAfter(b, loop);
      Value first = getRow(b, {view, movement});
      Value last = arith::AddIOp::create(
          b, loc, first, create(view.getMixedSizes()[movement.dim]));
      emitPrefetch(b, loc, view.getSource(), at, movement.dim, {first, last},
                   /*isWrite=*/true);
    }
    ofQueries = MovingView{view, movement};
  }
  std::optional<int64_t> queries =
      getConstantIntValue(loop.getMixedStep().back());
  if (!ofQueries || !queries)
    return;
  bool isBackward = ofQueries->movement.isBackward, movesOn = false;
  for (memref::SubViewOp range : spread->findRanges()) {
    // There is nothing before the first key.
    if (isBackward && isZeroInteger(range.getMixedOffsets()[0]))
      continue;
    spread->emitBeyond(b, range, isBackward, *queries);
    movesOn = true;
  }
  if (!movesOn)
    prefetchNextHead(b, loop, *spread, *ofQueries,
                     create(loop.getMixedStep().back()));
}

/// Whether an operand is read or written from front to back.
static bool isInOrder(AffineMap map) {
  SmallVector<unsigned> dims;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      dims.push_back(dim.getPosition());
  return dims.size() == map.getNumResults() && llvm::is_sorted(dims);
}

/// Whether a loop only goes through rows from front to back, as element-wise
/// operations and sums of rows do: processors fetch that ahead themselves.
static bool isInOrder(scf::ForallOp loop) {
  return llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
    if (auto onRows = dyn_cast<linalg::LinalgOp>(op))
      return llvm::all_of(onRows.getIndexingMapsArray(),
                          [](AffineMap map) { return isInOrder(map); });
    return isa<memref::AllocOp>(op) || isMemoryEffectFree(&op);
  });
}

namespace {
struct PrefetchTiles : attn::impl::PrefetchTilesBase<PrefetchTiles> {
  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (scf::ForallOp loop : loops) {
      if (isInOrder(loop))
        continue;
      prefetchPackedRows(loop);
      prefetchTiles(loop);
    }
  }
};
} // namespace

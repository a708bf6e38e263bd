//===- PrefetchTiles.cpp - The next tile's rows into the cache ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PREFETCHTILES
#include "lib/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr int64_t kCacheLineBytes = 64;

/// How a view moves with a loop.
struct Movement {
  unsigned dim;
  /// By how many rows in an iteration: the step, or as many back.
  bool isBackward;
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
  }
  return std::nullopt;
}

/// Prefetches the rows of `view` that the next iteration moves to, as far as
/// they are in [0, end).
void emitPrefetch(OpBuilder &b, memref::SubViewOp view, Movement movement,
                  Value step, Value end) {
  Location loc = view.getLoc();
  MemRefType type = view.getSourceType();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> indices;
  for (OpFoldResult offset : view.getMixedOffsets())
    indices.push_back(getValueOrCreateConstantIndexOp(b, loc, offset));
  Value here = indices[movement.dim], first, last;
  if (movement.isBackward) {
    first = arith::MaxSIOp::create(
        b, loc, arith::SubIOp::create(b, loc, here, step), zero);
    last = here;
  } else {
    first = arith::AddIOp::create(b, loc, here, step);
    last = arith::MinSIOp::create(
        b, loc, arith::AddIOp::create(b, loc, first, step), end);
  }
  auto rows = scf::ForOp::create(b, loc, first, last, one);
  b.setInsertionPointToStart(rows.getBody());
  indices[movement.dim] = rows.getInductionVar();
  int64_t perLine = kCacheLineBytes * 8 / type.getElementTypeBitWidth();
  for (int64_t column = 0; column < type.getShape().back(); column += perLine) {
    indices.back() =
        column ? arith::ConstantIndexOp::create(b, loc, column).getResult()
               : zero;
    memref::PrefetchOp::create(b, loc, view.getSource(), indices,
                               /*isWrite=*/false, /*localityHint=*/2,
                               /*isDataCache=*/true);
  }
}

} // namespace

void attn::prefetchTiles(scf::ForallOp loop) {
  OpBuilder b(loop.getContext());
  Location loc = loop.getLoc();
  Value iv = loop.getInductionVars().back();
  SmallVector<memref::SubViewOp> views;
  for (auto view : loop.getBody()->getOps<memref::SubViewOp>())
    if (loop.isDefinedOutsideOfLoop(view.getSource()))
      views.push_back(view);
  for (memref::SubViewOp view : views) {
    std::optional<Movement> movement = findMovement(view, iv);
    if (!movement)
      continue;
    b.setInsertionPointAfter(view);
    Value step =
        getValueOrCreateConstantIndexOp(b, loc, loop.getMixedStep().back());
    Value end = getValueOrCreateConstantIndexOp(
        b, loc, loop.getMixedUpperBound().back());
    emitPrefetch(b, view, *movement, step, end);
  }
}

namespace {
struct PrefetchTiles : attn::impl::PrefetchTilesBase<PrefetchTiles> {
  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (scf::ForallOp loop : loops)
      prefetchTiles(loop);
  }
};
} // namespace

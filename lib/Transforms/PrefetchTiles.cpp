//===- PrefetchTiles.cpp - The next tile's rows into the cache ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/TileSizes.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Transforms.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"

#include <array>

namespace mlir::attn {
#define GEN_PASS_DEF_PREFETCHTILES
#include "lib/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Keys fetched ahead are less far away, so that they stay in the cache. A
/// power of 2.
constexpr int64_t kFarthestKey = 1024;

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

/// A view of rows that moves with the tiles.
struct MovingView {
  memref::SubViewOp view;
  Movement movement;
};

/// Rows [first, last).
struct RowRange {
  Value first, last;
};

/// The rows of `view` that the next iteration moves to, as far as they are in
/// [0, end).
RowRange nextRows(OpBuilder &b, MovingView moving, Value step, Value end) {
  Location loc = moving.view.getLoc();
  Value here = getValueOrCreateConstantIndexOp(
      b, loc, moving.view.getMixedOffsets()[moving.movement.dim]);
  if (moving.movement.isBackward) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value before = arith::SubIOp::create(b, loc, here, step);
    return {arith::MaxSIOp::create(b, loc, before, zero), here};
  }
  Value first = arith::AddIOp::create(b, loc, here, step);
  Value after = arith::AddIOp::create(b, loc, first, step);
  return {first, arith::MinSIOp::create(b, loc, after, end)};
}

/// Prefetches the lines of `source` at `indices`, for the indices of `range` in
/// dimension `dim` and all in the last.
void emitPrefetch(OpBuilder &b, Location loc, Value source,
                  ArrayRef<OpFoldResult> at, unsigned dim, RowRange range) {
  OpBuilder::InsertionGuard guard(b);
  auto type = cast<MemRefType>(source.getType());
  SmallVector<Value> indices;
  for (OpFoldResult index : at)
    indices.push_back(getValueOrCreateConstantIndexOp(b, loc, index));
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto rows = scf::ForOp::create(b, loc, range.first, range.last, one);
  b.setInsertionPointToStart(rows.getBody());
  indices[dim] = rows.getInductionVar();
  int64_t perLine = kCacheLineBytes * 8 / type.getElementTypeBitWidth();
  for (int64_t column = 0; column < type.getShape().back(); column += perLine) {
    indices.back() = arith::ConstantIndexOp::create(b, loc, column);
    memref::PrefetchOp::create(b, loc, source, indices, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
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

/// Prefetches rows in the blocks of a loop over keys, some in each, and those
/// of different tensors between different steps of a block: a processor has few
/// requests under way, and all at once they would wait for each other.
class SpreadPrefetch {
public:
  explicit SpreadPrefetch(OnlineSoftmaxOp softmax)
      : keys(softmax->getParentOfType<scf::ForOp>()), softmax(softmax),
        loc(softmax.getLoc()) {
    // Before the softmax, after it, before the product with values, and at
    // first. In pairs the output's correction is a pass of its own, otherwise
    // the product begins with it.
    Operation *after = softmax->getNextNode(), *product = after;
    SmallVector<linalg::LinalgOp> steps;
    for (Operation *op = after; op; op = op->getNextNode())
      op->walk([&](linalg::LinalgOp step) { steps.push_back(step); });
    if (!steps.empty()) {
      bool isInPairs = steps.back().getNumLoops() > 3;
      product = steps[steps.size() - (isInPairs || steps.size() == 1 ? 1 : 2)];
    }
    places = {softmax, after, product, &keys.getBody()->front()};
    // What a block that is skipped has no steps for is fetched instead of them.
    if (auto choice = dyn_cast<scf::IfOp>(softmax->getParentOp());
        choice && choice->getBlock() == keys.getBody() &&
        choice.elseBlock() == softmax->getBlock())
      skipped = choice.thenBlock()->getTerminator();
  }

  /// Whether the loop comes after `value`.
  bool isAfter(Value value) const {
    return DominanceInfo().properlyDominates(value, keys);
  }

  /// As `emitPrefetch`, of at most `count` rows.
  void emit(OpBuilder &b, Value source, ArrayRef<OpFoldResult> at, unsigned dim,
            RowRange range, Value count) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(keys);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value numKeys = arith::SubIOp::create(b, loc, keys.getUpperBound(),
                                          keys.getLowerBound());
    Value blocks = arith::MaxSIOp::create(
        b, loc, arith::CeilDivSIOp::create(b, loc, numKeys, keys.getStep()),
        one);
    Value share = arith::CeilDivSIOp::create(b, loc, count, blocks);
    b.setInsertionPoint(places[3]);
    Value done = arith::SubIOp::create(b, loc, keys.getInductionVar(),
                                       keys.getLowerBound());
    Value block = arith::DivUIOp::create(b, loc, done, keys.getStep());
    Value first = arith::AddIOp::create(
        b, loc, range.first, arith::MulIOp::create(b, loc, block, share));
    Value last = arith::MinSIOp::create(
        b, loc, arith::AddIOp::create(b, loc, first, share), range.last);
    Operation *place = places[numEmitted++ % places.size()];
    b.setInsertionPoint(place);
    emitPrefetch(b, loc, source, at, dim, {first, last});
    if (!skipped || place->getBlock() == keys.getBody())
      return;
    b.setInsertionPoint(skipped);
    emitPrefetch(b, loc, source, at, dim, {first, last});
  }

  /// What `range`, the keys that a tile sees or packs of them, does not have
  /// but those of later tiles will. A window moves on by the `queries` of a
  /// tile. Where a range stays for some tiles and then jumps, as between
  /// documents, each of these fetches others of the next keys: as far away as
  /// the tile's queries still are from where the range ends.
  void emitBeyond(OpBuilder &b, memref::SubViewOp range, bool isBackward,
                  int64_t queries) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(keys);
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, loc, value).getResult();
    };
    MemRefType type = range.getSourceType();
    int64_t keysPerRow = type.getRank() == 2 ? 1 : type.getShape().back();
    SmallVector<OpFoldResult> at = range.getMixedOffsets();
    auto apply = [&](AffineExpr expression, OpFoldResult last) {
      return getValueOrCreateConstantIndexOp(
          b, loc,
          affine::makeComposedFoldedAffineApply(
              b, loc, expression, {at[0], range.getMixedSizes()[0], last}));
    };
    AffineExpr first = b.getAffineSymbolExpr(0),
               size = b.getAffineSymbolExpr(1),
               other = b.getAffineSymbolExpr(2);
    Value distance =
        apply(isBackward ? other - first * keysPerRow
                         : (first + size) * keysPerRow - other - queries,
              softmax.getPosition());
    Value ahead =
        arith::AndIOp::create(b, loc, distance, index(kFarthestKey - 1));
    Value begin =
        apply(isBackward ? first - (other + queries).floorDiv(keysPerRow)
                         : first + size + other.floorDiv(keysPerRow),
              ahead);
    Value end = memref::DimOp::create(b, loc, range.getSource(), 0);
    if (keysPerRow == 1) {
      Value rows = index(queries);
      Value after = arith::AddIOp::create(b, loc, begin, rows);
      begin = arith::MaxSIOp::create(b, loc, begin, index(0));
      emit(b, range.getSource(), at, 0,
           {begin, arith::MinSIOp::create(b, loc, after, end)}, rows);
      return;
    }
    // One pack, or again one that is there.
    Value lastPack = arith::SubIOp::create(b, loc, end, index(1));
    Value pack = arith::MinSIOp::create(b, loc, begin, lastPack);
    at[0] = arith::MaxSIOp::create(b, loc, pack, index(0)).getResult();
    Value rows = index(type.getDimSize(1));
    emit(b, range.getSource(), at, 1, {index(0), rows}, rows);
  }

  /// The ranges of keys that blocks are cut from.
  SmallVector<memref::SubViewOp> findRanges() {
    SmallVector<memref::SubViewOp> ranges;
    if (!isAfter(softmax.getPosition()))
      return ranges;
    for (auto block : keys.getBody()->getOps<memref::SubViewOp>()) {
      auto range = block.getSource().getDefiningOp<memref::SubViewOp>();
      if (!range || !keys.isDefinedOutsideOfLoop(range) ||
          range.getDroppedDims().any())
        continue;
      MemRefType type = range.getSourceType();
      bool isDynamic = isa<Value>(range.getMixedOffsets()[0]) ||
                       isa<Value>(range.getMixedSizes()[0]);
      if (isDynamic && (type.getRank() == 2 || type.getRank() == 3) &&
          type.isLastDimUnitStride() && type.getElementType().isIntOrFloat() &&
          llvm::none_of(type.getShape().drop_front(), ShapedType::isDynamic))
        ranges.push_back(range);
    }
    return ranges;
  }

private:
  scf::ForOp keys;
  OnlineSoftmaxOp softmax;
  Location loc;
  std::array<Operation *, 4> places;
  Operation *skipped = nullptr; ///< The end of what skips a block.
  unsigned numEmitted = 0;
};

} // namespace

void attn::prefetchTiles(scf::ForallOp loop) {
  OpBuilder b(loop.getContext());
  Location loc = loop.getLoc();
  Value iv = loop.getInductionVars().back();
  SmallVector<MovingView> views;
  for (auto view : loop.getBody()->getOps<memref::SubViewOp>())
    if (loop.isDefinedOutsideOfLoop(view.getSource()))
      if (std::optional<Movement> movement = findMovement(view, iv))
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
  std::optional<Movement> ofQueries;
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
    ofQueries = movement;
  }
  std::optional<int64_t> queries =
      getConstantIntValue(loop.getMixedStep().back());
  if (ofQueries && queries)
    for (memref::SubViewOp range : spread->findRanges())
      spread->emitBeyond(b, range, ofQueries->isBackward, *queries);
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
    for (scf::ForallOp loop : loops)
      if (!isInOrder(loop))
        prefetchTiles(loop);
  }
};
} // namespace

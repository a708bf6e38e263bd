//===- PackRowsInTiles.cpp - Rows packed by the tiles that read them ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   parallel for every pack i
//     packs[i] = rows of it
//   parallel for every tile of rows r and of columns
//     reads of packs[r * n + p], 0 <= p < n
//
// becomes
//
//   parallel for every tile of rows r and of columns
//     packed = the tile of the iteration before, or none
//     if packed != r
//       for every pack p of the tile
//         packs_of_tile[p] = rows of pack r * n + p
//     reads of packs_of_tile[p]
//
// so that a tile finds its packs in the second-level cache, all of them in the
// same lines as those of the tile before, where packs of all rows would have
// left it. Tiles of the same rows follow each other in a thread's share, so
// that it packs few rows twice; they are packed once for each thread that takes
// some of their tiles.
//

#include "lib/Kernel/KeptBuffers.h"
#include "lib/Memory/Passes.h"
#include "lib/Plan/TileSizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PACKROWSINTILES
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Packs of rows: the loop that fills them, and the one whose tiles of rows
/// read them.
struct RowPacks {
  memref::AllocOp buffer;
  scf::ForallOp packing, tiles;
  memref::SubViewOp destination; ///< Of a pack, in `packing`.
  SmallVector<memref::SubViewOp> reads;
  SmallVector<memref::PrefetchOp> prefetches; ///< In `packing`.
  Value tile;                                 ///< Numbers the tiles of rows.
  int64_t packsPerTile = 0;

  /// The packs in `buffer`, if they are better packed by their tiles.
  static std::optional<RowPacks> match(memref::AllocOp buffer);

  int64_t getBytes(int64_t numPacks) {
    MemRefType type = buffer.getType();
    return numPacks * type.getElementTypeBitWidth() / 8 *
           ShapedType::getNumElements(type.getShape().drop_front());
  }

private:
  bool matchUsers();
  bool matchRead(memref::SubViewOp read);
  bool isUnchangedMeanwhile();
};

/// Whether `view` is that of one index of the first dimension.
bool isOfOne(memref::SubViewOp view) {
  return isOneInteger(view.getMixedSizes()[0]) &&
         isa<Value>(view.getMixedOffsets()[0]) &&
         llvm::all_of(view.getMixedStrides(), isOneInteger);
}

/// By how much `offset` grows with `iv`; 0 if that is unknown.
int64_t getFactor(Value offset, Value iv) {
  auto apply = offset.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return 0;
  AffineMap map = apply.getAffineMap();
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims, symbols;
  for (auto [number, operand] : llvm::enumerate(apply.getMapOperands())) {
    bool isDim = number < map.getNumDims();
    AffineExpr expr =
        isDim ? getAffineDimExpr(number, context)
              : getAffineSymbolExpr(number - map.getNumDims(), context);
    (isDim ? dims : symbols).push_back(operand == iv ? expr + 1 : expr);
  }
  AffineExpr expr = map.getResult(0);
  AffineExpr difference =
      simplifyAffineExpr(expr.replaceDimsAndSymbols(dims, symbols) - expr,
                         map.getNumDims(), map.getNumSymbols());
  auto constant = dyn_cast<AffineConstantExpr>(difference);
  return constant ? constant.getValue() : 0;
}

/// The memory that `memref` views, if it is an allocation or an argument of the
/// function, of which no two overlap.
Value findMemory(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memref);
  bool isKnown =
      argument ? isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) &&
                     argument.getOwner()->isEntryBlock()
               : memref.getDefiningOp<memref::AllocOp>() != nullptr;
  return isKnown ? memref : Value();
}

/// Whether `op` may change some of `memories`.
bool mayChange(Operation *op, const llvm::SmallDenseSet<Value> &memories) {
  return op
      ->walk([&](Operation *nested) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(nested);
        if (!effects)
          return nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                         nested->hasTrait<OpTrait::IsTerminator>()
                     ? WalkResult::advance()
                     : WalkResult::interrupt();
        SmallVector<MemoryEffects::EffectInstance> instances;
        effects.getEffects(instances);
        for (const MemoryEffects::EffectInstance &effect : instances) {
          if (!isa<MemoryEffects::Write, MemoryEffects::Free>(
                  effect.getEffect()))
            continue;
          Value memory =
              effect.getValue() ? findMemory(effect.getValue()) : Value();
          if (!memory || memories.contains(memory))
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<RowPacks> RowPacks::match(memref::AllocOp buffer) {
  RowPacks packs;
  packs.buffer = buffer;
  if (buffer.getType().getRank() < 2 ||
      !ShapedType::isStaticShape(buffer.getType().getShape().drop_front()) ||
      !packs.matchUsers() || !packs.isUnchangedMeanwhile())
    return std::nullopt;
  // Products of f32 take too long to wait for packs.
  if (buffer.getType().getElementTypeBitWidth() > 16)
    return std::nullopt;
  // Those of all rows stay in the cache as well.
  std::optional<int64_t> count =
      getConstantIntValue(packs.packing.getMixedUpperBound()[0]);
  if (packs.getBytes(packs.packsPerTile) > kMostPackBytes ||
      (count && packs.getBytes(*count) <= kMostPackBytes))
    return std::nullopt;
  return packs;
}

/// One loop writes, and one reads.
bool RowPacks::matchUsers() {
  for (Operation *user : buffer->getUsers()) {
    auto loop = user->getParentOfType<scf::ForallOp>();
    if (!loop || loop->getBlock() != buffer->getBlock())
      return false;
    auto view = dyn_cast<memref::SubViewOp>(user);
    if (view && loop.getRank() == 1 && view->getBlock() == loop.getBody() &&
        view.getMixedOffsets()[0] == OpFoldResult(loop.getInductionVar(0))) {
      if (destination)
        return false;
      destination = view;
      packing = loop;
    } else if (view) {
      if (tiles && tiles != loop)
        return false;
      tiles = loop;
      reads.push_back(view);
    } else if (auto prefetch = dyn_cast<memref::PrefetchOp>(user)) {
      prefetches.push_back(prefetch);
    } else {
      return false;
    }
  }
  return packing && tiles && packing->isBeforeInBlock(tiles) &&
         isOfOne(destination) &&
         llvm::all_of(packing.getMixedLowerBound(), isZeroInteger) &&
         llvm::all_of(packing.getMixedStep(), isOneInteger) &&
         llvm::all_of(prefetches,
                      [&](memref::PrefetchOp prefetch) {
                        return packing->isAncestor(prefetch);
                      }) &&
         llvm::all_of(reads,
                      [&](memref::SubViewOp read) { return matchRead(read); });
}

/// All of them read packs of the same tile of rows.
bool RowPacks::matchRead(memref::SubViewOp read) {
  if (!isOfOne(read))
    return false;
  auto offset = cast<Value>(read.getMixedOffsets()[0]);
  int64_t factor = 0;
  for (Value iv : tiles.getInductionVars())
    if (int64_t found = getFactor(offset, iv)) {
      if (factor != 0 || (tile && iv != tile) ||
          (packsPerTile != 0 && found != packsPerTile))
        return false;
      factor = found;
      tile = iv;
      packsPerTile = found;
    }
  // Tiles of the same rows must follow each other.
  if (factor <= 0 ||
      (tiles.getRank() > 1 && tile == tiles.getInductionVars().back()))
    return false;
  AffineExpr at, number;
  bindDims(read.getContext(), at, number);
  ValueBoundsConstraintSet::Variable inTile(
      AffineMap::get(2, 0, at - number * factor), ValueRange{offset, tile});
  auto bound = [&](presburger::BoundType type) {
    return ValueBoundsConstraintSet::computeConstantBound(
        type, inTile, /*stopCondition=*/nullptr, /*closedUB=*/true);
  };
  FailureOr<int64_t> low = bound(presburger::BoundType::LB),
                     high = bound(presburger::BoundType::UB);
  return succeeded(low) && succeeded(high) && *low >= 0 && *high < factor;
}

/// Whether the tiles find all that is packed as `packing` does.
bool RowPacks::isUnchangedMeanwhile() {
  llvm::SmallDenseSet<Value> memories;
  WalkResult known = packing.walk([&](Operation *op) {
    // What it keeps is not of the iterations of `tiles`.
    if (auto alloc = dyn_cast<memref::AllocOp>(op);
        alloc && isKeptBuffer(alloc))
      return WalkResult::interrupt();
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) &&
          packing.isDefinedOutsideOfLoop(operand) &&
          operand != buffer.getResult()) {
        Value memory = findMemory(operand);
        if (!memory)
          return WalkResult::interrupt();
        memories.insert(memory);
      }
    return WalkResult::advance();
  });
  if (known.wasInterrupted() || mayChange(packing, memories))
    return false;
  for (Operation *op = packing->getNextNode(); op != tiles;
       op = op->getNextNode())
    if (mayChange(op, memories))
      return false;
  return !mayChange(tiles, memories);
}

/// Makes the tiles pack what they read.
void packInTiles(RowPacks &packs, RewriterBase &rewriter) {
  ImplicitLocOpBuilder b(packs.packing.getLoc(), rewriter.getContext());
  b.setInsertionPointToStart(packs.tiles.getBody());
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  MemRefType type = packs.buffer.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = packs.packsPerTile;
  Value local =
      memref::AllocOp::create(b, MemRefType::get(shape, type.getElementType()),
                              b.getI64IntegerAttr(kCacheLineBytes));
  keepBuffer(local);
  Value state =
      memref::AllocOp::create(b, MemRefType::get({1}, b.getIndexType()));
  keepBuffer(state);
  Value zero = index(0), one = index(1);
  memref::StoreOp::create(b, index(-1), state, zero);
  Value packed = memref::LoadOp::create(b, state, zero);
  Value isOther =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, packed, packs.tile);
  auto ifOp = scf::IfOp::create(b, isOther, /*withElseRegion=*/false);
  IRMapping mapping;
  auto map = [&](SmallVector<OpFoldResult> values) {
    for (OpFoldResult &each : values)
      if (auto value = dyn_cast<Value>(each))
        each = mapping.lookupOrDefault(value);
    return values;
  };
  auto view = [&](memref::SubViewOp of, Value number) -> Value {
    SmallVector<OpFoldResult> offsets = map(of.getMixedOffsets());
    offsets[0] = number;
    return memref::SubViewOp::create(b, of.getType(), local, offsets,
                                     map(of.getMixedSizes()),
                                     map(of.getMixedStrides()));
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    memref::StoreOp::create(b, packs.tile, state, zero);
    Value count = getValueOrCreateConstantIndexOp(
        b, b.getLoc(), packs.packing.getMixedUpperBound()[0]);
    Value first = arith::MulIOp::create(b, packs.tile, index(shape[0]));
    Value end = arith::MinSIOp::create(
        b, arith::AddIOp::create(b, first, index(shape[0])), count);
    auto loop = scf::ForOp::create(b, first, end, one);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    mapping.map(packs.packing.getInductionVar(0), number);
    for (Operation &op : packs.packing.getBody()->without_terminator()) {
      bool fetchesPacks =
          llvm::any_of(packs.prefetches, [&](memref::PrefetchOp prefetch) {
            return op.isAncestor(prefetch);
          });
      if (&op == packs.destination)
        mapping.map(
            packs.destination.getResult(),
            view(packs.destination, arith::SubIOp::create(b, number, first)));
      else if (!fetchesPacks)
        b.clone(op, mapping);
    }
  }
  AffineExpr at, number;
  bindDims(b.getContext(), at, number);
  for (memref::SubViewOp read : packs.reads) {
    b.setInsertionPoint(read);
    OpFoldResult inTile = affine::makeComposedFoldedAffineApply(
        b, b.getLoc(), at - number * packs.packsPerTile,
        {read.getMixedOffsets()[0], packs.tile});
    rewriter.replaceOp(read, view(read, getValueOrCreateConstantIndexOp(
                                            b, b.getLoc(), inTile)));
  }
  rewriter.eraseOp(packs.packing);
  rewriter.eraseOp(packs.buffer);
}

struct PackRowsInTiles : attn::impl::PackRowsInTilesBase<PackRowsInTiles> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<memref::AllocOp> buffers;
    getOperation()->walk([&](memref::AllocOp buffer) {
      if (!buffer->getParentOfType<scf::ForallOp>())
        buffers.push_back(buffer);
    });
    for (memref::AllocOp buffer : buffers)
      if (std::optional<RowPacks> packs = RowPacks::match(buffer))
        packInTiles(*packs, rewriter);
  }
};

} // namespace

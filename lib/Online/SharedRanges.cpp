//===- SharedRanges.cpp - What heads share of their tiles -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   forall batch entry, head, tile
//     first = search from the first key on
//
// becomes, if the search is the same for every head,
//
//   forall batch entry, some tiles
//     for every tile of them
//       found[batch entry, tile] = search from the first key on
//   forall batch entry, head, tile
//     first = found[batch entry, tile]
//

#include "lib/Online/SharedRanges.h"
#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <array>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Tiles that one thread searches for at a time: some microseconds, so that a
/// short call does not wake others for it.
constexpr int64_t kTilesAtOnce = 32;

class SharedSearch {
public:
  SharedSearch(OpBuilder &builder, scf::ForallOp tiles,
               std::pair<Value, Value> range)
      : b(tiles.getLoc(), builder), tiles(tiles),
        range({range.first, range.second}) {}

  /// Collects what computes the range.
  bool match() {
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitBlockArguments = true;
    options.omitUsesFromAbove = false;
    options.filter = [&](Operation *op) {
      return op->getBlock() == tiles.getBody();
    };
    for (Value limit : range)
      if (failed(getBackwardSlice(limit, &producers, options)))
        return false;
    return llvm::any_of(producers, llvm::IsaPred<scf::WhileOp>) &&
           llvm::all_of(producers, [&](Operation *op) { return isShared(op); });
  }

  std::pair<Value, Value> emit() {
    Value found;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(tiles);
      found = emitSearches();
    }
    Value tile = affine::makeComposedAffineApply(
        b, b.getLoc(), b.getAffineDimExpr(0).floorDiv(getStep()),
        {tiles.getInductionVar(2)});
    auto read = [&](int64_t i) -> Value {
      return b.load(found, {tiles.getInductionVar(0), tile, b.index(i)});
    };
    Value begin = read(0), end = read(1);
    for (Operation *producer : llvm::reverse(producers))
      if (isOpTriviallyDead(producer))
        producer->erase();
    return {begin, end};
  }

private:
  /// Whether `op` computes the same for every head, from what there is before
  /// the loop.
  bool isShared(Operation *op) {
    WalkResult result = op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (operand == tiles.getInductionVar(1) ||
            llvm::is_contained(tiles.getRegionIterArgs(), operand))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return !result.wasInterrupted() && isMemoryEffectFree(op);
  }

  int64_t getStep() { return *getConstantIntValue(tiles.getMixedStep()[2]); }

  /// The ranges of all tiles, `(batch entries, tiles, 2)`.
  Value emitSearches() {
    OpFoldResult batch = tiles.getMixedUpperBound()[0];
    OpFoldResult numTiles = b.apply(b.getAffineSymbolExpr(0).ceilDiv(getStep()),
                                    tiles.getMixedUpperBound()[2]);
    Value empty = b.empty({batch, numTiles, 2}, b.getIndexType());
    scf::ForallOp loop =
        b.enterForall({batch, numTiles}, empty, b.fold({1, kTilesAtOnce}));
    Value entry = loop.getInductionVar(0), first = loop.getInductionVar(1);
    AffineExpr rest = b.getAffineSymbolExpr(0) - b.getAffineDimExpr(0);
    OpFoldResult some = affine::makeComposedFoldedAffineMin(
        b, b.getLoc(),
        AffineMap::get(1, 1, {rest, b.getAffineConstantExpr(kTilesAtOnce)},
                       b.getContext()),
        {first, numTiles});
    IndexBuilder::Box box = {{entry, first, 0}, {1, some, 2}};
    Value all = loop.getRegionIterArgs()[0];
    Value found =
        b.loop(0, some, 1, b.extract(all, box), [&](Value tile, Value found) {
          return emitSearch(entry, first, tile, found);
        });
    b.insertInParallel(loop, found, all, box);
    return loop.getResult(0);
  }

  /// Stores the range of a tile, before which there are `first` and those of
  /// `found`.
  Value emitSearch(Value entry, Value first, Value tile, Value found) {
    IRMapping mapping;
    mapping.map(tiles.getInductionVar(0), entry);
    AffineExpr number = b.getAffineDimExpr(0) + b.getAffineDimExpr(1);
    mapping.map(tiles.getInductionVar(2),
                affine::makeComposedAffineApply(
                    b, b.getLoc(), number * getStep(), {first, tile})
                    .getResult());
    for (Operation &op : *tiles.getBody())
      if (producers.contains(&op))
        b.clone(op, mapping);
    for (auto [i, limit] : llvm::enumerate(range))
      found = b.store(mapping.lookupOrDefault(limit), found,
                      {b.index(0), tile, b.index(int64_t(i))});
    return found;
  }

  IndexBuilder b;
  scf::ForallOp tiles;
  std::array<Value, 2> range;
  llvm::SetVector<Operation *> producers;
};

} // namespace

std::pair<Value, Value> attn::shareAmongHeads(OpBuilder &b, scf::ForallOp tiles,
                                              std::pair<Value, Value> range) {
  if (tiles.getRank() != 3 ||
      !llvm::all_of(tiles.getMixedLowerBound(), isZeroInteger) ||
      !isOneInteger(tiles.getMixedStep()[0]) ||
      !getConstantIntValue(tiles.getMixedStep()[2]) ||
      getConstantIntValue(tiles.getMixedUpperBound()[1]) == 1)
    return range;
  SharedSearch search(b, tiles, range);
  return search.match() ? search.emit() : range;
}

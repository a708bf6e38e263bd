//===- DelayedSums.cpp - Sums of tiles stored by the next product ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/DelayedStore.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Memory/PrefetchShares.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A loop over packs, and its parts.
struct PackLoop {
  scf::ForOp packs;
  /// Around the product if it is one of two ways to compute it; or null.
  scf::IfOp choice;
  /// Of the product.
  scf::ForOp steps;
  /// A store for each result of the steps, and the load or zero it begins with.
  SmallVector<amx::TileStoreOp, 4> stores;
  SmallVector<Operation *, 4> starts;
  /// What is computed of C; or null.
  linalg::LinalgOp use;

  static std::optional<PackLoop> match(scf::ForOp packs);
  void delay(RewriterBase &b);

private:
  bool matchTiles(Block &product);
  bool areSumsAlone();
  Value getC() { return stores.front().getBase(); }
  bool isOwn(Operation *op) {
    return llvm::is_contained(stores, op) || llvm::is_contained(starts, op) ||
           op == use.getOperation();
  }
  void storeTile(OpBuilder &b, unsigned i, Value tile, LaterIteration &at);
  Value startTile(OpBuilder &b, unsigned i, LaterIteration &at);
  void emitUse(OpBuilder &b, LaterIteration &at);
  SmallVector<Value> emitSteps(OpBuilder &b, IRMapping &mapping,
                               LaterIteration &earlier, ValueRange carried);
};
} // namespace

static Value skipViews(Value value) {
  return memref::skipViewLikeOps(cast<MemrefValue>(value));
}

/// Whether `value` is computed from numbers and views alone in each iteration,
/// and can be for another one.
static bool isOfIteration(Value value, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isOfIteration(operand, loop);
         });
}

static bool hasIterations(scf::ForOp loop) {
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                         end = getConstantIntValue(loop.getUpperBound());
  return first && end && *first < *end;
}

bool PackLoop::matchTiles(Block &product) {
  for (Operation &op : product.without_terminator())
    if (auto store = dyn_cast<amx::TileStoreOp>(op))
      stores.push_back(store);
  if (stores.empty())
    return false;
  steps = stores.front().getVal().getDefiningOp<scf::ForOp>();
  if (!steps || steps->getBlock() != &product || !hasIterations(steps) ||
      getConstantIntValue(steps.getStep()) != 1 ||
      steps.getNumResults() != stores.size())
    return false;
  for (auto [i, store] : llvm::enumerate(stores)) {
    Operation *start = steps.getInitArgs()[i].getDefiningOp();
    auto load = dyn_cast_or_null<amx::TileLoadOp>(start);
    if (store.getVal() != steps.getResult(i) || store.getBase() != getC() ||
        !llvm::all_of(
            store->getOperands().drop_back(),
            [&](Value operand) { return isOfIteration(operand, packs); }) ||
        !start || start->getBlock() != &product || !start->hasOneUse() ||
        !(isa<amx::TileZeroOp>(start) ||
          (load && load.getBase() == getC() &&
           llvm::equal(load.getIndices(), store.getIndices()))))
      return false;
    starts.push_back(start);
  }
  return true;
}

/// Whether C is a buffer that nothing else in the loop touches, and `use`
/// writes what nothing else does. Fetching is no harm.
bool PackLoop::areSumsAlone() {
  Value sums = skipViews(getC()),
        out = use ? skipViews(use.getDpsInits()[0]) : Value();
  if (!sums.getDefiningOp<memref::AllocOp>() || sums == out)
    return false;
  auto isHarmless = [&](Operation *op) {
    return isOwn(op) || op == packs ||
           (touchesNoMemory(op) &&
            !isa<memref::ExtractAlignedPointerAsIndexOp>(op)) ||
           llvm::none_of(op->getOperands(), [&](Value operand) {
             if (!isa<MemRefType>(operand.getType()))
               return false;
             Value memory = skipViews(operand);
             return memory == sums || memory == out;
           });
  };
  WalkResult result = packs.walk([&](Operation *op) -> WalkResult {
    if (choice && choice.getElseRegion().isAncestor(op->getParentRegion()))
      return WalkResult::skip();
    return isHarmless(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

std::optional<PackLoop> PackLoop::match(scf::ForOp packs) {
  PackLoop loop;
  loop.packs = packs;
  if (!packs.getInitArgs().empty() || getConstantIntValue(packs.getStep()) != 1)
    return std::nullopt;
  // A product, and at most one operation that reads C.
  for (Operation &op : packs.getBody()->without_terminator()) {
    if (auto choice = dyn_cast<scf::IfOp>(op)) {
      if (loop.choice || loop.use || choice.getNumResults() != 0 ||
          !choice.elseBlock())
        return std::nullopt;
      loop.choice = choice;
    } else if (auto use = dyn_cast<linalg::LinalgOp>(op)) {
      if (loop.use || use.getNumDpsInits() != 1 ||
          !use.hasPureBufferSemantics())
        return std::nullopt;
      loop.use = use;
    }
  }
  Block *product = loop.choice ? loop.choice.thenBlock() : packs.getBody();
  if (!loop.matchTiles(*product) ||
      !dependsOn(loop.getC(), packs.getInductionVar()))
    return std::nullopt;
  Operation *last = loop.choice ? loop.choice : loop.steps.getOperation();
  if (loop.use) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop.use->getRegions(), captured);
    if (loop.use->isBeforeInBlock(last) || loop.use.hasIndexSemantics() ||
        !llvm::all_of(
            captured,
            [&](Value value) { return packs.isDefinedOutsideOfLoop(value); }) ||
        !llvm::all_of(loop.use->getOperands(), [&](Value operand) {
          return isOfIteration(operand, packs);
        }))
      return std::nullopt;
  }
  if (!loop.areSumsAlone())
    return std::nullopt;
  return loop;
}

void PackLoop::storeTile(OpBuilder &b, unsigned i, Value tile,
                         LaterIteration &at) {
  amx::TileStoreOp store = stores[i];
  auto indices = llvm::map_to_vector(
      store.getIndices(), [&](Value index) { return at.get(index); });
  amx::TileStoreOp::create(b, store.getLoc(), at.get(getC()), indices, tile);
}

Value PackLoop::startTile(OpBuilder &b, unsigned i, LaterIteration &at) {
  Location loc = starts[i]->getLoc();
  auto type = cast<amx::TileType>(starts[i]->getResult(0).getType());
  auto load = dyn_cast<amx::TileLoadOp>(starts[i]);
  if (!load)
    return amx::TileZeroOp::create(b, loc, type);
  auto indices = llvm::map_to_vector(
      load.getIndices(), [&](Value index) { return at.get(index); });
  return amx::TileLoadOp::create(b, loc, type, at.get(getC()), indices);
}

void PackLoop::emitUse(OpBuilder &b, LaterIteration &at) {
  if (!use)
    return;
  auto operands = llvm::map_to_vector(
      use->getOperands(), [&](Value operand) { return at.get(operand); });
  clone(b, use, TypeRange(), operands);
}

/// The first step is one of its own: it has stores and loads between products.
SmallVector<Value> PackLoop::emitSteps(OpBuilder &b, IRMapping &mapping,
                                       LaterIteration &earlier,
                                       ValueRange carried) {
  Location loc = steps.getLoc();
  LaterIteration own(b, packs,
                     mapping.lookupOrDefault(packs.getInductionVar()));
  Value first = mapping.lookupOrDefault(steps.getLowerBound());
  IRMapping ofFirst(mapping);
  ofFirst.map(steps.getInductionVar(), first);
  auto yield = cast<scf::YieldOp>(steps.getBody()->getTerminator());
  for (Operation &op : steps.getBody()->without_terminator()) {
    for (auto [i, sum] : llvm::enumerate(steps.getRegionIterArgs()))
      if (llvm::is_contained(op.getOperands(), sum) && !ofFirst.contains(sum)) {
        storeTile(b, i, carried[i], earlier);
        ofFirst.map(sum, startTile(b, i, own));
      }
    b.clone(op, ofFirst);
  }
  auto sums = llvm::map_to_vector(
      yield.getOperands(), [&](Value sum) { return ofFirst.lookup(sum); });
  Value second = arith::AddIOp::create(
      b, loc, first, mapping.lookupOrDefault(steps.getStep()));
  auto rest = scf::ForOp::create(
      b, loc, second, mapping.lookupOrDefault(steps.getUpperBound()),
      mapping.lookupOrDefault(steps.getStep()), sums);
  IRMapping ofRest(mapping);
  ofRest.map(steps.getInductionVar(), rest.getInductionVar());
  ofRest.map(steps.getRegionIterArgs(), rest.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rest.getBody());
  for (Operation &op : *steps.getBody())
    b.clone(op, ofRest);
  return rest.getResults();
}

void PackLoop::delay(RewriterBase &b) {
  Location loc = packs.getLoc();
  b.setInsertionPoint(packs);
  Value begin = packs.getLowerBound(), end = packs.getUpperBound(),
        one = packs.getStep();
  Value isDelayed =
      b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, begin, end);
  if (choice)
    isDelayed = arith::AndIOp::create(b, loc, isDelayed, choice.getCondition());
  auto either =
      scf::IfOp::create(b, loc, isDelayed, /*withElseRegion=*/bool(choice));
  b.setInsertionPoint(either.thenYield());
  // The first pack stores what it begins with, and begins with that again.
  SmallVector<Value> tiles;
  LaterIteration first(b, packs, begin);
  for (unsigned i = 0; i < starts.size(); ++i)
    tiles.push_back(startTile(b, i, first));
  auto delayed = scf::ForOp::create(b, loc, begin, end, one, tiles);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(delayed.getBody());
    Value pack = delayed.getInductionVar();
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, pack,
                                         begin),
          before = arith::SubIOp::create(b, loc, pack, one);
    before = arith::SelectOp::create(b, loc, exists, before, pack);
    LaterIteration earlier(b, packs, before);
    IRMapping mapping;
    mapping.map(packs.getInductionVar(), pack);
    SmallVector<Value> sums;
    auto emit = [&](Block &block, auto &emit) -> void {
      for (Operation &op : block.without_terminator()) {
        if (&op == steps)
          sums = emitSteps(b, mapping, earlier, delayed.getRegionIterArgs());
        else if (choice && &op == choice)
          emit(*choice.thenBlock(), emit);
        else if (!isOwn(&op))
          b.clone(op, mapping);
      }
    };
    emit(*packs.getBody(), emit);
    if (use) {
      auto ofBefore =
          scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard inBranch(b);
      b.setInsertionPoint(ofBefore.thenYield());
      LaterIteration inIf(b, packs, before);
      emitUse(b, inIf);
    }
    scf::YieldOp::create(b, loc, sums);
  }
  LaterIteration last(b, packs, arith::SubIOp::create(b, loc, end, one));
  for (auto [i, tile] : llvm::enumerate(delayed.getResults()))
    storeTile(b, i, tile, last);
  emitUse(b, last);
  if (!choice) {
    b.eraseOp(packs);
    return;
  }
  b.inlineBlockBefore(choice.elseBlock(), choice);
  b.eraseOp(choice->getPrevNode());
  b.eraseOp(choice);
  b.moveOpBefore(packs, either.elseYield());
}

void attn::delaySums(RewriterBase &rewriter, Operation *root) {
  SmallVector<scf::ForOp> loops;
  root->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    std::optional<PackLoop> packs = PackLoop::match(loop);
    if (!packs)
      continue;
    moveLoopInvariantCode(loop);
    // Which way to compute it must be known before the loop.
    if (!packs->choice ||
        loop.isDefinedOutsideOfLoop(packs->choice.getCondition()))
      packs->delay(rewriter);
  }
}

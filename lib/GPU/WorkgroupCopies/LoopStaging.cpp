//===- LoopStaging.cpp - Tiles copied ahead of a loop ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Without producers:
//
//   for s in 0 .. stages - 2
//     start the copies of iteration s to stage s, as a group
//   for i
//     wait until all groups but the stages - 2 youngest have arrived
//     barrier
//     start the copies of iteration i + stages - 1, as a group
//     what the loop did, on stage i % stages
//
// Behind the barrier, the copies of all threads for iteration i have arrived,
// and no thread still reads the stage of iteration i - 1, which the new copies
// go to. A group may be empty, so that there is one of each iteration.
//
// Where workgroup memory has room for one block alone, tiles take turns, in the
// order in which an iteration reads them, here keys and values:
//
//   start the copy of the first keys
//   for i
//     wait for the keys; barrier
//     start the copy of the values of i, as those of i - 1 have been read
//     the products with keys
//     barrier
//     start the copy of the keys of i + 1
//     weights
//     wait for the values; barrier
//     the products with values
//
// With producers, which are other threads, and two mbarriers for each stage, of
// which one tells that it is full and one that it is empty:
//
//   producers: start the copies of the first iterations, of s to stage s
//   for i
//     producers: wait until the stage of i + stages - 1 is empty
//                start the copies of that iteration, and have them fill it
//     wait until stage i % stages is full
//     what the loop did, on that stage, which is empty then
//
// Upstream's `memref.multibuffer`, `nvgpu.create_async_groups` and
// `nvgpu.pipeline_shared_memory_copies` make the same of a loop whose number of
// iterations is a constant (MLIR 22.1). They refuse one that is not, as of keys
// here, take each row to be aligned to 16 bytes, copy what a branch of the
// iteration reads whether or not it is taken, and the last crashes on address
// spaces of `gpu`.

#include "lib/GPU/WorkgroupCopies/LoopStaging.h"
#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/WorkgroupCopies/StageBarriers.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What reads in a loop read of a buffer in its stead.
struct StagedTile {
  TileSource source; ///< In an iteration.
  VectorType type;   ///< Of what is multiplied.
  SmallVector<vector::TransferReadOp> reads;
  Value buffer;
  Value isAligned = nullptr; ///< Before the loop; null if it is not known.
  /// Of the loop's body: the first and the last one that have reads or uses.
  Operation *firstReader = nullptr, *lastReader = nullptr;
  /// What the first address of a thread grows by in each iteration; null if it
  /// is not known.
  Value distance = nullptr;
  Value address = nullptr; ///< Of the next copy; null without a distance.
};

/// Stages one loop.
class LoopStaging {
public:
  LoopStaging(scf::ForOp loop, ArrayRef<vector::TransferReadOp> reads,
              WorkgroupThreads consumers, int64_t queryBytes, int64_t warpRows)
      : loop(loop), consumers(consumers), threads(consumers), rewriter(loop),
        b(loop.getLoc(), rewriter) {
    int64_t producers = getNumProducers(consumers.launch);
    if (producers > 0 && runsOnce()) {
      threads.first = consumers.number;
      threads.number = producers;
    }
    llvm::MapVector<std::tuple<Value, Value, Type>, StagedTile> ofSources;
    for (vector::TransferReadOp read : reads) {
      ConvertedRows rows(read);
      StagedTile &tile =
          ofSources[{read.getBase(), rows.scales, rows.getType()}];
      tile.source = {read.getBase(), rows.scales};
      tile.type = rows.getType();
      tile.reads.push_back(read);
    }
    tiles = llvm::to_vector(llvm::make_second_range(ofSources.takeVector()));
    for (StagedTile &tile : tiles)
      findReaders(tile);
    chooseStages(queryBytes, warpRows);
  }

  LogicalResult run() {
    if ((numStages < 2 && !inTurns) || !areFoundAhead())
      return failure();
    if (hasProducers())
      barriers = allocateStageBarriers(consumers, numStages);
    for (StagedTile &tile : tiles)
      prepare(tile);
    findBranches();
    SmallVector<Value> carried =
        inTurns ? emitPrologueOfTurns() : emitPrologue();
    replaceLoop(carried);
    ValueRange own = loop.getRegionIterArgs().take_back(carried.size());
    b.setInsertionPointToStart(loop.getBody());
    Value stage = b.index(0);
    if (inTurns) {
      emitIterationOfTurns(own);
    } else {
      emitIteration(own);
      stage = toIndex(own[hasProducers() ? 0 : 1]);
    }
    for (StagedTile &tile : tiles)
      for (vector::TransferReadOp read : tile.reads) {
        b.setInsertionPoint(read);
        readTile(read, emitTileView(b, tile.buffer, stage, tile.type));
      }
    return success();
  }

private:
  /// Whether the loop is in branches alone: mbarriers begin once, and producers
  /// follow.
  bool runsOnce() {
    Operation *parent = loop->getParentOp();
    while (isa<scf::IfOp>(parent))
      parent = parent->getParentOp();
    return parent == consumers.launch;
  }

  bool hasProducers() const { return threads.first > 0; }

  void chooseStages(int64_t queryBytes, int64_t warpRows) {
    int64_t bytes = 0, size = 0;
    for (const StagedTile &tile : tiles) {
      bytes += getTileBytes(threads, tile.type);
      size = std::max(size, tile.type.getShape().back());
    }
    CacheModel model(getTarget(loop));
    CacheModel::Workgroup workgroup = {threads.number / kLanesOfWarp, warpRows,
                                       size};
    inTurns = !hasProducers() && areReadInTurns() &&
              model.takesTurns(bytes, queryBytes, workgroup);
    if (inTurns)
      numStages = 1;
    else if (threads.inWarpgroups)
      numStages =
          model.getStagesOfWarpgroups(bytes, queryBytes + getBytesInLoop());
    else
      numStages = model.getStages(bytes, queryBytes, workgroup);
  }

  void findReaders(StagedTile &tile) {
    auto include = [&](Operation *op) {
      Operation *reader = loop.getBody()->findAncestorOpInBlock(*op);
      if (!tile.firstReader || reader->isBeforeInBlock(tile.firstReader))
        tile.firstReader = reader;
      if (!tile.lastReader || tile.lastReader->isBeforeInBlock(reader))
        tile.lastReader = reader;
    };
    for (vector::TransferReadOp read : tile.reads) {
      include(read);
      for (Operation *user : ConvertedRows(read).rows.getUsers())
        include(user);
    }
  }

  /// Whether an iteration is through with a tile before it reads the next one.
  /// Sorts tiles so.
  bool areReadInTurns() {
    llvm::sort(tiles, [](const StagedTile &x, const StagedTile &y) {
      return x.firstReader->isBeforeInBlock(y.firstReader);
    });
    for (size_t i = 1; i < tiles.size(); ++i)
      if (!tiles[i - 1].lastReader->isBeforeInBlock(tiles[i].firstReader))
        return false;
    return tiles.size() > 1;
  }

  /// Of workgroup memory that iterations use on their own.
  int64_t getBytesInLoop() {
    int64_t bytes = 0;
    loop.walk([&](memref::AllocaOp op) {
      MemRefType type = op.getType();
      if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type))
        bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    });
    return bytes;
  }

  void prepare(StagedTile &tile) {
    tile.buffer = allocateTiles(threads, numStages, tile.type);
    Value memory = tile.source.rows, iv = loop.getInductionVar();
    bool isLinear = true;
    while (!loop.isDefinedOutsideOfLoop(memory)) {
      auto part = memory.getDefiningOp<memref::SubViewOp>();
      // Rows of a view begin where rows of what it is a view of do.
      if (!part || !part.hasUnitStride() ||
          !isZeroInteger(part.getMixedOffsets().back()))
        return;
      Value row = dyn_cast<Value>(part.getMixedOffsets().front());
      isLinear &= part.getSourceType().getRank() == 2 &&
                  (!row || row == iv || loop.isDefinedOutsideOfLoop(row));
      memory = part.getSource();
    }
    tile.isAligned = emitIsAlignedFor(b, memory, tile.type);
    auto type = cast<MemRefType>(memory.getType());
    if (!isLinear || type.getRank() != 2 || isConvertedTile(memory, tile.type))
      return;
    auto parts = memref::ExtractStridedMetadataOp::create(b, memory);
    tile.distance =
        b.mul(b.mul(parts.getStrides()[0], type.getElementTypeBitWidth() / 8),
              loop.getStep());
  }

  /// Whether what is read, and whether, does not depend on what the loop
  /// carries. Leaves operations without users.
  bool areFoundAhead() {
    LaterIteration first(b, loop, loop.getLowerBound());
    return llvm::all_of(tiles, [&](StagedTile &tile) {
      return findSource(tile, first).rows && emitCondition(tile, first);
    });
  }

  /// Of another iteration. What is not known ahead is null.
  static TileSource findSource(const StagedTile &tile,
                               LaterIteration &iteration) {
    const TileSource &own = tile.source;
    TileSource source;
    if (own.scales)
      source.scales = iteration.get(own.scales);
    if (source.scales || !own.scales)
      source.rows = iteration.get(own.rows);
    return source;
  }

  /// Whether a tile is read in another iteration; null if it is not known
  /// ahead.
  Value emitCondition(const StagedTile &tile, LaterIteration &iteration) {
    Value result = b.boolean(false);
    for (vector::TransferReadOp read : tile.reads) {
      Value condition = emitCondition(read, iteration);
      if (!condition)
        return {};
      result = b.bitOr(condition, result);
    }
    return result;
  }

  Value emitCondition(vector::TransferReadOp read, LaterIteration &iteration) {
    Value result = b.boolean(true);
    Operation *inner = read;
    for (Operation *op = read->getParentOp(); op != loop.getOperation();
         inner = op, op = op->getParentOp()) {
      auto branch = dyn_cast<scf::IfOp>(op);
      Value condition = branch ? iteration.get(branch.getCondition()) : Value();
      if (!condition)
        return {};
      if (inner->getBlock() != branch.thenBlock())
        condition = arith::XOrIOp::create(b, condition, b.boolean(true));
      result = b.bitAnd(condition, result);
    }
    return result;
  }

  /// The outermost branches that tiles are read in, of which each iteration
  /// decides those of the iteration whose copies it starts, for which it asks
  /// as much.
  void findBranches() {
    // Those of more stages would take registers of kernels that have few.
    if (numStages > 3 || inTurns || hasProducers() || loadsAhead())
      return;
    llvm::SmallSetVector<Operation *, 2> found;
    for (StagedTile &tile : tiles)
      for (vector::TransferReadOp read : tile.reads)
        if (Operation *op = loop.getBody()->findAncestorOpInBlock(*read);
            op != read)
          found.insert(op);
    for (Operation *op : found)
      branches.push_back(cast<scf::IfOp>(op));
  }

  SmallVector<Value> emitBranchConditions(Value iv) {
    LaterIteration iteration(b, loop, iv);
    return llvm::map_to_vector(branches, [&](scf::IfOp branch) {
      return iteration.get(branch.getCondition());
    });
  }

  /// Whether something of iterations is loaded, which past the last one there
  /// may be none of.
  bool loadsAhead() {
    SmallVector<Value> open;
    for (StagedTile &tile : tiles) {
      open.push_back(tile.source.rows);
      if (tile.source.scales)
        open.push_back(tile.source.scales);
      for (vector::TransferReadOp read : tile.reads)
        for (Operation *op = read->getParentOp(); op != loop.getOperation();
             op = op->getParentOp())
          open.push_back(cast<scf::IfOp>(op).getCondition());
    }
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || loop.isDefinedOutsideOfLoop(value) || !seen.insert(op).second)
        continue;
      if (!isMemoryEffectFree(op))
        return true;
      llvm::append_range(open, op->getOperands());
    }
    return false;
  }

  /// Whether a tile has no more rows than are left in iteration `iv`, and so
  /// none in one that there is not.
  bool endsWithLoop(Value source, Value iv) {
    using Variable = ValueBoundsConstraintSet::Variable;
    AffineMap left = AffineMap::get(
        0, 2, b.getAffineSymbolExpr(0) - b.getAffineSymbolExpr(1));
    return ValueBoundsConstraintSet::compare(
        Variable(source, 0), ValueBoundsConstraintSet::LE,
        Variable(left, ValueRange{loop.getUpperBound(), iv}));
  }

  /// Copies what iteration `iv` reads of `tiles`, if there is such a one; the
  /// group.
  Value emitCopies(ArrayRef<StagedTile> tiles, Value iv, Value stage) {
    Value exists = b.isLess(iv, loop.getUpperBound());
    if (loadsAhead())
      b.when(exists, [&] { emitCopiesAhead(tiles, iv, stage, nullptr); });
    else
      emitCopiesAhead(tiles, iv, stage, exists);
    return emitGroup();
  }

  Value emitGroup() {
    return nvgpu::DeviceAsyncCreateGroupOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), ValueRange());
  }

  /// The same of producers, who wait until a stage is empty, unless it has
  /// never been full.
  void emitProducedCopies(Value iv, Value stage, Value parity = nullptr) {
    b.when(b.isLess(iv, loop.getUpperBound()), [&] {
      if (parity)
        emitWait(b, barriers, numStages, StageBarrier::Empty, stage, parity);
      emitCopiesAhead(tiles, iv, stage, nullptr);
      emitArriveOfCopies(b, barriers, numStages, stage);
    });
  }

  /// Of an iteration that there is if `exists`, or anyway if that is null.
  void emitCopiesAhead(ArrayRef<StagedTile> tiles, Value iv, Value stage,
                       Value exists) {
    LaterIteration iteration(b, loop, iv);
    // Copies may share what they need.
    SmallVector<TileSource> sources;
    SmallVector<Value> conditions, areAligned, views;
    Value isSimple = b.boolean(true);
    for (const StagedTile &tile : tiles) {
      TileSource source = findSource(tile, iteration);
      sources.push_back(source);
      conditions.push_back(emitCondition(tile, iteration));
      areAligned.push_back(tile.isAligned
                               ? tile.isAligned
                               : emitIsAlignedFor(b, source.rows, tile.type));
      views.push_back(emitTileView(b, tile.buffer, stage, tile.type));
      isSimple = b.bitAnd(isSimple, areAligned.back());
    }
    // What is the same in each iteration comes first, so that it is asked once.
    for (auto [source, condition, view] :
         llvm::zip_equal(sources, conditions, views))
      for (Value part : {emitIsWholeTile(b, threads, source, view), condition})
        isSimple = b.bitAnd(isSimple, part);
    if (exists && llvm::none_of(sources, [&](const TileSource &source) {
          return endsWithLoop(source.rows, iv);
        }))
      isSimple = b.bitAnd(isSimple, exists);
    // Mostly, all of a block is there, and copied without a question.
    auto branch = scf::IfOp::create(b, isSimple, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (auto [tile, source, view] : llvm::zip_equal(tiles, sources, views))
      emitWholeTileCopy(b, threads, source, view, tile.address);
    b.setInsertionPointToStart(branch.elseBlock());
    for (auto [source, condition, isAligned, view] :
         llvm::zip_equal(sources, conditions, areAligned, views)) {
      if (exists)
        condition = b.bitAnd(condition, exists);
      b.when(condition,
             [&] { emitTileCopy(b, threads, source, view, isAligned); });
    }
  }

  /// What the loop carries beside its own: the youngest group, the stage, that
  /// of the iteration before if there are others, the addresses of the copies
  /// that an iteration starts, and what decides its branches.
  SmallVector<Value> emitPrologue() {
    if (hasProducers())
      return emitPrologueOfProducers();
    // What shares the memory, or the loop if it ran before, may be read still.
    gpu::BarrierOp::create(b);
    Value group, iv = loop.getLowerBound();
    emitAddresses(iv);
    for (int64_t stage = 0; stage < numStages - 1; ++stage) {
      group = emitCopies(tiles, iv, b.index(stage));
      iv = b.add(iv, loop.getStep());
      emitNextAddresses(tiles);
    }
    SmallVector<Value> carried = {group, stageNumber(0)};
    if (numStages > 2)
      carried.push_back(stageNumber(numStages - 1));
    llvm::append_range(carried, getAddresses());
    iv = loop.getLowerBound();
    for (int64_t stage = 0; stage < numStages - 1; ++stage) {
      llvm::append_range(carried, emitBranchConditions(iv));
      iv = b.add(iv, loop.getStep());
    }
    return carried;
  }

  /// What the loop carries beside its own: the stage, its parity, which changes
  /// when it was the last one, that of the iteration before if there are
  /// others, and addresses.
  SmallVector<Value> emitPrologueOfProducers() {
    emitBarrierOfAll(b, consumers);
    emitInit(b, barriers, numStages, consumers, threads);
    emitBarrierOfAll(b, consumers);
    Value iv = loop.getLowerBound();
    emitAddresses(iv);
    SmallVector<Value> first = getAddresses();
    auto producers = ProducersOp::create(b);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&producers.getBody());
    emitBarrierOfAll(b, consumers);
    emitBarrierOfAll(b, consumers);
    for (int64_t stage = 0; stage < numStages - 1; ++stage) {
      emitProducedCopies(iv, b.index(stage));
      iv = b.add(iv, loop.getStep());
      emitNextAddresses(tiles);
    }
    b.setInsertionPoint(producers);
    setAddresses(first);
    for (int64_t stage = 0; stage < numStages - 1; ++stage)
      emitNextAddresses(tiles);
    SmallVector<Value> carried = {stageNumber(0), stageNumber(0)};
    if (numStages > 2)
      carried.push_back(stageNumber(numStages - 1));
    llvm::append_range(carried, getAddresses());
    return carried;
  }

  /// What the loop carries beside its own: the groups of the tiles that are
  /// copied an iteration ahead, and the addresses of the copies that it starts.
  SmallVector<Value> emitPrologueOfTurns() {
    // What shares the memory, or the loop if it ran before, may be read still.
    gpu::BarrierOp::create(b);
    Value iv = loop.getLowerBound();
    emitAddresses(iv);
    SmallVector<Value> carried;
    for (StagedTile &tile : MutableArrayRef(tiles).drop_back()) {
      carried.push_back(emitCopies(tile, iv, b.index(0)));
      emitNextAddresses(tile);
    }
    llvm::append_range(carried, getAddresses());
    return carried;
  }

  void emitAddresses(Value iv) {
    LaterIteration iteration(b, loop, iv);
    for (StagedTile &tile : tiles)
      if (tile.distance)
        tile.address = emitFirstAddress(
            b, threads, findSource(tile, iteration),
            emitTileView(b, tile.buffer, b.index(0), tile.type));
  }

  void emitNextAddresses(MutableArrayRef<StagedTile> tiles) {
    for (StagedTile &tile : tiles)
      if (tile.distance)
        tile.address = b.add(tile.address, tile.distance);
  }

  SmallVector<Value> getAddresses() {
    SmallVector<Value> addresses;
    for (StagedTile &tile : tiles)
      if (tile.distance)
        addresses.push_back(tile.address);
    return addresses;
  }

  void setAddresses(ValueRange addresses) {
    for (StagedTile &tile : tiles)
      if (tile.distance) {
        tile.address = addresses.front();
        addresses = addresses.drop_front();
      }
  }

  /// Of 32 bits, which are enough, and take half of the instructions.
  Value stageNumber(int64_t number) {
    return arith::ConstantIntOp::create(b, number, 32);
  }
  Value toIndex(Value stage) {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), stage);
  }

  void replaceLoop(ValueRange carried) {
    auto interface = cast<LoopLikeOpInterface>(*loop);
    loop = cast<scf::ForOp>(*interface.replaceWithAdditionalIterOperands(
        rewriter, carried, /*replaceInitOperandUsesInLoop=*/false));
  }

  void emitIteration(ValueRange carried) {
    if (hasProducers())
      return emitIterationOfProducers(carried);
    Value group = carried[0], stage = carried[1];
    // Of this iteration, and of those whose copies are under way.
    size_t numConditions = branches.size() * size_t(numStages - 1);
    ValueRange conditions = carried.take_back(numConditions);
    setAddresses(carried.drop_front(numStages > 2 ? 3 : 2));
    emitWaitForCopies(group, numStages - 2);
    Value after = emitStageAfter(stage), ahead = emitIterationAhead(),
          last = numStages == 2 ? after : carried[2];
    SmallVector<Value> next = {emitCopies(tiles, ahead, toIndex(last)), after};
    if (numStages > 2)
      next.push_back(stage);
    emitNextAddresses(tiles);
    llvm::append_range(next, getAddresses());
    llvm::append_range(next, conditions.drop_front(branches.size()));
    llvm::append_range(next, emitBranchConditions(ahead));
    for (auto [branch, condition] :
         llvm::zip_equal(branches, conditions.take_front(branches.size())))
      branch.getConditionMutable().assign(condition);
    carry(next);
  }

  /// Waits until all threads have copied a group, after which there are
  /// `younger` ones.
  void emitWaitForCopies(Value group, int64_t younger) {
    nvgpu::DeviceAsyncWaitOp::create(b, group, b.getI32IntegerAttr(younger));
    emitCopyBarrier(b, threads);
  }

  /// Of tiles, the last one is copied in the iteration that reads it, as soon
  /// as there is a barrier anyway behind the last iteration's reads.
  void emitIterationOfTurns(ValueRange carried) {
    auto number = int64_t(tiles.size());
    MutableArrayRef<StagedTile> ahead = MutableArrayRef(tiles).drop_back();
    StagedTile &last = tiles.back();
    Value iv = loop.getInductionVar(), later = b.add(iv, loop.getStep());
    setAddresses(carried.drop_front(ahead.size()));
    emitWaitForCopies(carried.front(), number - 2);
    emitCopiesAhead(last, iv, b.index(0), /*exists=*/nullptr);
    Value group = emitGroup();
    SmallVector<Value> next;
    for (auto [tile, own] :
         llvm::zip_equal(ahead, carried.take_front(ahead.size()))) {
      if (&tile != &ahead.front()) {
        b.setInsertionPoint(tile.firstReader);
        emitWaitForCopies(own, number - 1);
      }
      b.setInsertionPointAfter(tile.lastReader);
      emitCopyBarrier(b, threads);
      next.push_back(emitCopies(tile, later, b.index(0)));
    }
    b.setInsertionPoint(last.firstReader);
    emitWaitForCopies(group, number - 1);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    emitNextAddresses(tiles);
    llvm::append_range(next, getAddresses());
    carry(next);
  }

  void emitIterationOfProducers(ValueRange carried) {
    Value stage = carried[0], parity = carried[1];
    setAddresses(carried.drop_front(numStages > 2 ? 3 : 2));
    Value after = emitStageAfter(stage),
          last = numStages == 2 ? after : carried[2];
    auto isEqual = [&](Value x, int64_t y) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x,
                                   stageNumber(y));
    };
    auto flipIf = [&](Value condition) -> Value {
      Value flip = arith::ExtUIOp::create(b, b.getI32Type(), condition);
      return arith::XOrIOp::create(b, parity, flip);
    };
    auto producers = ProducersOp::create(b);
    b.createBlock(&producers.getBody());
    // Behind the first stage, the one before is full for the next time. A stage
    // that never was empty is taken for one that has been before.
    emitProducedCopies(emitIterationAhead(), toIndex(last),
                       flipIf(isEqual(stage, 0)));
    b.setInsertionPointAfter(producers);
    emitWait(b, barriers, numStages, StageBarrier::Full, toIndex(stage),
             parity);
    emitProxyFence(b);
    SmallVector<Value> next = {after, flipIf(isEqual(after, 0))};
    if (numStages > 2)
      next.push_back(stage);
    emitNextAddresses(tiles);
    llvm::append_range(next, getAddresses());
    carry(next);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    emitArriveOfReaders(b, barriers, numStages, toIndex(stage), consumers);
  }

  Value emitStageAfter(Value stage) {
    Value one = stageNumber(1);
    if (numStages == 2)
      return arith::SubIOp::create(b, one, stage);
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, stage,
                                         stageNumber(numStages - 1));
    return arith::SelectOp::create(b, isLast, stageNumber(0),
                                   arith::AddIOp::create(b, stage, one));
  }

  /// The iteration whose copies one starts.
  Value emitIterationAhead() {
    return b.add(loop.getInductionVar(), b.mul(loop.getStep(), numStages - 1));
  }

  void carry(ValueRange next) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    unsigned first = yield.getNumOperands() - next.size();
    for (auto [i, value] : llvm::enumerate(next))
      yield->setOperand(first + i, value);
  }

  scf::ForOp loop;
  WorkgroupThreads consumers, threads; ///< Those that copy, maybe others.
  Value barriers; ///< Of stages, where there are producers.
  IRRewriter rewriter;
  IndexBuilder b;
  SmallVector<StagedTile> tiles;
  SmallVector<scf::IfOp> branches; ///< Decided with the copies.
  int64_t numStages = 0;
  bool inTurns = false; ///< Each tile is alone in its one buffer.
};

} // namespace

LogicalResult attn::stageLoop(scf::ForOp loop,
                              ArrayRef<vector::TransferReadOp> reads,
                              WorkgroupThreads threads, int64_t queryBytes,
                              int64_t warpRows) {
  return LoopStaging(loop, reads, threads, queryBytes, warpRows).run();
}

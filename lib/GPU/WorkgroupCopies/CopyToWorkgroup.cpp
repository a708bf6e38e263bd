//===- CopyToWorkgroup.cpp - Factors through workgroup memory -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/GPU/Passes.h"
#include "lib/GPU/RareLoop.h"
#include "lib/GPU/WarpRows.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

namespace mlir::attn {
#define GEN_PASS_DEF_COPYTOWORKGROUP
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Tiles copied ahead of a loop
//===----------------------------------------------------------------------===//

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
// Upstream's `memref.multibuffer`, `nvgpu.create_async_groups` and
// `nvgpu.pipeline_shared_memory_copies` make the same of a loop whose number of
// iterations is a constant (MLIR 22.1). They refuse one that is not, as of keys
// here, take each row to be aligned to 16 bytes, copy what a branch of the
// iteration reads whether or not it is taken, and the last crashes on address
// spaces of `gpu`.

namespace {

/// What reads in a loop read of a buffer in its stead.
struct StagedTile {
  TileSource source; ///< In an iteration.
  VectorType type;   ///< Of what is multiplied.
  SmallVector<vector::TransferReadOp> reads;
  Value buffer;
  Value isAligned = nullptr; ///< Before the loop; null if it is not known.
  /// What the first address of a thread grows by in each iteration; null if it
  /// is not known.
  Value distance = nullptr;
};

/// Makes `reads`, of tiles that depend on the iteration of `loop`, reads of
/// buffers in workgroup memory with several stages, into which iterations copy
/// what later ones read, beside the queries in it. Fails where a tile cannot be
/// found ahead, or two stages do not fit; the loop computes what it did then.
class LoopStaging {
public:
  LoopStaging(scf::ForOp loop, ArrayRef<vector::TransferReadOp> reads,
              WorkgroupThreads threads, int64_t queryBytes, int64_t warpRows)
      : loop(loop), threads(threads), rewriter(loop),
        b(loop.getLoc(), rewriter) {
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
    numStages = getNumStages(queryBytes, warpRows);
  }

  LogicalResult run() {
    if (numStages < 2 || !areFoundAhead())
      return failure();
    for (StagedTile &tile : tiles)
      prepare(tile);
    findBranches();
    SmallVector<Value> carried = emitPrologue();
    replaceLoop(carried);
    size_t count = carried.size();
    b.setInsertionPointToStart(loop.getBody());
    emitIteration(loop.getRegionIterArgs().take_back(count));
    Value stage = toIndex(loop.getRegionIterArgs().take_back(count)[1]);
    for (StagedTile &tile : tiles)
      for (vector::TransferReadOp read : tile.reads) {
        b.setInsertionPoint(read);
        readTile(read, emitTileView(b, tile.buffer, stage, tile.type));
      }
    return success();
  }

private:
  int64_t getNumStages(int64_t queryBytes, int64_t warpRows) {
    int64_t bytes = 0, size = 0;
    for (const StagedTile &tile : tiles) {
      bytes += getTileBytes(tile.type);
      size = std::max(size, tile.type.getShape().back());
    }
    return CacheModel(getTarget(loop))
        .getStages(bytes, queryBytes,
                   {threads.number / kLanesOfWarp, warpRows, size});
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
  /// decides those of the next one, where it asks so much for its copies.
  void findBranches() {
    if (numStages != 2 || loadsAhead())
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

  /// Copies what iteration `iv` reads, if there is such a one; the group.
  /// Threads have `addresses`, where they are known.
  Value emitCopies(Value iv, Value stage, ValueRange addresses) {
    Value exists = b.isLess(iv, loop.getUpperBound());
    if (loadsAhead())
      b.when(exists, [&] { emitCopiesAhead(iv, stage, addresses, nullptr); });
    else
      emitCopiesAhead(iv, stage, addresses, exists);
    return nvgpu::DeviceAsyncCreateGroupOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), ValueRange());
  }

  /// Of an iteration that there is if `exists`, or anyway if that is null.
  void emitCopiesAhead(Value iv, Value stage, ValueRange addresses,
                       Value exists) {
    LaterIteration iteration(b, loop, iv);
    // Copies may share what they need.
    SmallVector<TileSource> sources;
    SmallVector<Value> conditions, areAligned, views;
    Value isSimple = b.boolean(true);
    for (StagedTile &tile : tiles) {
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
    for (auto [tile, source, view] : llvm::zip_equal(tiles, sources, views)) {
      Value address;
      if (tile.distance) {
        address = addresses.front();
        addresses = addresses.drop_front();
      }
      emitWholeTileCopy(b, threads, source, view, address);
    }
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
    // What shares the memory, or the loop if it ran before, may be read still.
    gpu::BarrierOp::create(b);
    Value group, iv = loop.getLowerBound();
    SmallVector<Value> addresses = emitAddresses(iv);
    for (int64_t stage = 0; stage < numStages - 1; ++stage) {
      group = emitCopies(iv, b.index(stage), addresses);
      iv = b.add(iv, loop.getStep());
      addresses = emitNextAddresses(addresses);
    }
    SmallVector<Value> carried = {group, stageNumber(0)};
    if (numStages > 2)
      carried.push_back(stageNumber(numStages - 1));
    llvm::append_range(carried, addresses);
    llvm::append_range(carried, emitBranchConditions(loop.getLowerBound()));
    return carried;
  }

  SmallVector<Value> emitAddresses(Value iv) {
    LaterIteration iteration(b, loop, iv);
    SmallVector<Value> addresses;
    for (StagedTile &tile : tiles)
      if (tile.distance)
        addresses.push_back(emitFirstAddress(
            b, threads, findSource(tile, iteration),
            emitTileView(b, tile.buffer, b.index(0), tile.type)));
    return addresses;
  }

  SmallVector<Value> emitNextAddresses(ValueRange addresses) {
    SmallVector<Value> next;
    for (StagedTile &tile : tiles)
      if (tile.distance)
        next.push_back(b.add(addresses[next.size()], tile.distance));
    return next;
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
    Value group = carried[0], stage = carried[1];
    ValueRange conditions = carried.take_back(branches.size()),
               addresses = carried.drop_front(numStages > 2 ? 3 : 2)
                               .drop_back(branches.size());
    nvgpu::DeviceAsyncWaitOp::create(b, group,
                                     b.getI32IntegerAttr(numStages - 2));
    gpu::BarrierOp::create(b);
    Value one = stageNumber(1), after, last;
    if (numStages == 2) {
      last = after = arith::SubIOp::create(b, one, stage);
    } else {
      last = carried[2];
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, stage,
                                           stageNumber(numStages - 1));
      after = arith::SelectOp::create(b, isLast, stageNumber(0),
                                      arith::AddIOp::create(b, stage, one));
    }
    Value distance = b.mul(loop.getStep(), numStages - 1);
    Value ahead = b.add(loop.getInductionVar(), distance);
    SmallVector<Value> next = {emitCopies(ahead, toIndex(last), addresses),
                               after};
    if (numStages > 2)
      next.push_back(stage);
    llvm::append_range(next, emitNextAddresses(addresses));
    llvm::append_range(next, emitBranchConditions(ahead));
    for (auto [branch, condition] : llvm::zip_equal(branches, conditions))
      branch.getConditionMutable().assign(condition);
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    unsigned first = yield.getNumOperands() - next.size();
    for (auto [i, value] : llvm::enumerate(next))
      yield->setOperand(first + i, value);
  }

  scf::ForOp loop;
  WorkgroupThreads threads;
  IRRewriter rewriter;
  IndexBuilder b;
  SmallVector<StagedTile> tiles;
  SmallVector<scf::IfOp> branches; ///< Decided an iteration ahead.
  int64_t numStages;
};

//===----------------------------------------------------------------------===//
// What is copied
//===----------------------------------------------------------------------===//

/// Whether each use of the rows that are read is as the factor `number` of a
/// product.
bool isFactor(vector::TransferReadOp read, unsigned number) {
  Value rows = ConvertedRows(read).rows;
  return !rows.use_empty() && llvm::all_of(rows.getUses(), [&](OpOperand &use) {
    return isa<vector::ContractionOp>(use.getOwner()) &&
           use.getOperandNumber() == number;
  });
}

bool isCopiedType(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

/// Whether a read is of rows in global memory that can be copied.
bool isCopied(vector::TransferReadOp read) {
  VectorType type = read.getVectorType();
  auto memory = dyn_cast<MemRefType>(read.getBase().getType());
  return memory && memory.getRank() == 2 && type.getRank() == 2 &&
         memory.isLastDimUnitStride() &&
         !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(memory) &&
         llvm::all_of(type.getShape(),
                      [](int64_t size) { return size % 16 == 0; }) &&
         isCopiedType(ConvertedRows(read).getType().getElementType()) &&
         llvm::all_of(
             read.getIndices(),
             [](Value index) { return matchPattern(index, m_Zero()); }) &&
         !read.getMask() && read.getPermutationMap().isMinorIdentity() &&
         !memory.isDynamicDim(1);
}

/// A first factor is in registers, but for heads whose output takes them, and
/// but for f32, of which matrix units have no exact product.
bool isCopiedFirstFactor(vector::TransferReadOp read, int64_t warpRows) {
  constexpr int64_t kMostInRegisters = 128 * kRowsOfWarp;
  VectorType type = read.getVectorType();
  return isFactor(read, 0) &&
         (type.getDimSize(1) * warpRows > kMostInRegisters ||
          type.getElementType().isF32());
}

class LaunchConverter {
public:
  LaunchConverter(WorkgroupThreads threads, int64_t warpRows)
      : threads(threads), warpRows(warpRows) {}

  void run() {
    SmallVector<vector::TransferReadOp> queries, others;
    llvm::MapVector<Operation *, SmallVector<vector::TransferReadOp>> ofLoops;
    threads.launch.walk([&](vector::TransferReadOp read) {
      if (!isCopied(read))
        return;
      if (isCopiedFirstFactor(read, warpRows)) {
        queries.push_back(read);
      } else if (isFactor(read, 1)) {
        auto loop = read->getParentOfType<scf::ForOp>();
        if (loop && !loop->hasAttr(kRareLoopAttr) &&
            threads.launch->isProperAncestor(loop) &&
            dependsOn(read.getBase(), loop.getInductionVar()))
          ofLoops[loop].push_back(read);
        else
          others.push_back(read);
      }
    });
    int64_t queryBytes = 0;
    for (vector::TransferReadOp read : queries)
      queryBytes += getTileBytes(ConvertedRows(read).getType());
    for (auto &[loop, reads] : ofLoops)
      if (failed(LoopStaging(cast<scf::ForOp>(loop), reads, threads, queryBytes,
                             warpRows)
                     .run()))
        llvm::append_range(others, reads);
    for (vector::TransferReadOp read : others)
      readTile(read, copy(read));
    for (vector::TransferReadOp read : queries)
      readWhereUsed(read, copy(read));
  }

private:
  /// Copies a tile where it is read, and waits.
  Value copy(vector::TransferReadOp read) {
    OpBuilder builder(read);
    ImplicitLocOpBuilder b(read.getLoc(), builder);
    ConvertedRows rows(read);
    VectorType type = rows.getType();
    Value buffer = allocateTiles(threads, /*stages=*/1, type);
    Value tile =
        emitTileView(b, buffer, arith::ConstantIndexOp::create(b, 0), type);
    // What the memory held before may still be read.
    gpu::BarrierOp::create(b);
    emitTileCopy(b, threads, {read.getBase(), rows.scales}, tile,
                 emitIsAlignedFor(b, read.getBase(), type));
    Value group = nvgpu::DeviceAsyncCreateGroupOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), ValueRange());
    nvgpu::DeviceAsyncWaitOp::create(b, group, b.getI32IntegerAttr(0));
    gpu::BarrierOp::create(b);
    return tile;
  }

  /// Reads a tile for each product again, so that no register holds it.
  static void readWhereUsed(vector::TransferReadOp read, Value tile) {
    for (Operation *user : llvm::to_vector(read->getUsers())) {
      OpBuilder builder(user);
      auto own = cast<vector::TransferReadOp>(builder.clone(*read));
      user->setOperand(0, own);
      readTile(own, tile);
    }
    read.erase();
  }

  WorkgroupThreads threads;
  int64_t warpRows;
};

struct CopyToWorkgroup : attn::impl::CopyToWorkgroupBase<CopyToWorkgroup> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::LaunchOp launch) {
      APInt threads;
      FailureOr<int64_t> warpRows = getWarpRows(launch);
      if (failed(warpRows))
        return signalPassFailure();
      if (matchPattern(launch.getBlockSizeOperandValues().x,
                       m_ConstantInt(&threads)))
        LaunchConverter({launch, threads.getSExtValue()}, *warpRows).run();
    });
  }
};

} // namespace

//===- CopyToWorkgroup.cpp - Factors through workgroup memory -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/GPU/Passes.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "lib/Memory/LaterIteration.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

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

class LoopStaging {
public:
  LoopStaging(scf::ForOp loop, ArrayRef<vector::TransferReadOp> reads,
              WorkgroupThreads threads)
      : loop(loop), reads(reads), threads(threads), rewriter(loop),
        b(loop.getLoc(), rewriter), numStages(chooseNumStages(reads)) {}

  LogicalResult run() {
    if (numStages < 2 || !areFoundAhead())
      return failure();
    for (vector::TransferReadOp read : reads)
      buffers.push_back(
          allocateTiles(threads, numStages, ConvertedRows(read).getType()));
    Value group = emitPrologue();
    replaceLoop(group);
    group = loop.getRegionIterArgs().drop_back().back();
    Value stage = loop.getRegionIterArgs().back();
    b.setInsertionPointToStart(loop.getBody());
    emitIteration(group, stage);
    for (auto [read, buffer] : llvm::zip_equal(reads, buffers)) {
      b.setInsertionPoint(read);
      readTile(read,
               emitTileView(b, buffer, stage, ConvertedRows(read).getType()));
    }
    return success();
  }

private:
  /// As many as two workgroups of a multiprocessor have room for, with 100 KB
  /// of sm_86 and sm_89; two if 96 KB have room for them, beside which 164 KB
  /// of sm_80 have some for queries; else 1.
  static int64_t chooseNumStages(ArrayRef<vector::TransferReadOp> reads) {
    constexpr int64_t kBytes = 48 << 10, kMostBytes = 96 << 10, kMost = 4;
    int64_t bytes = 0;
    for (vector::TransferReadOp read : reads)
      bytes += getTileBytes(1, ConvertedRows(read).getType());
    return std::clamp<int64_t>(kBytes / bytes, 2 * bytes <= kMostBytes ? 2 : 1,
                               kMost);
  }

  /// Whether what is read, and whether, does not depend on what the loop
  /// carries. Leaves operations without users.
  bool areFoundAhead() {
    LaterIteration first(b, loop, loop.getLowerBound());
    return llvm::all_of(reads, [&](vector::TransferReadOp read) {
      Value scales = ConvertedRows(read).scales;
      return first.get(read.getBase()) && (!scales || first.get(scales)) &&
             emitCondition(read, first);
    });
  }

  /// Whether a read is executed in another iteration; null if it is not known
  /// ahead.
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

  /// Copies what iteration `iv` reads, if there is such a one; the group.
  Value emitCopies(Value iv, Value stage) {
    b.when(b.isLess(iv, loop.getUpperBound()), [&] {
      LaterIteration iteration(b, loop, iv);
      // Copies may share what they need.
      SmallVector<std::pair<TileSource, Value>> sources;
      for (vector::TransferReadOp read : reads) {
        Value scales = ConvertedRows(read).scales;
        sources.push_back({{iteration.get(read.getBase()),
                            scales ? iteration.get(scales) : Value()},
                           emitCondition(read, iteration)});
      }
      for (auto [read, buffer, source] :
           llvm::zip_equal(reads, buffers, sources))
        b.when(source.second, [&] {
          emitTileCopy(
              b, threads, source.first,
              emitTileView(b, buffer, stage, ConvertedRows(read).getType()));
        });
    });
    return nvgpu::DeviceAsyncCreateGroupOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), ValueRange());
  }

  Value emitPrologue() {
    // The loop may have run before, and be read from still.
    if (loop->getParentOp() != threads.launch.getOperation())
      gpu::BarrierOp::create(b);
    Value group, iv = loop.getLowerBound();
    for (int64_t stage = 0; stage < numStages - 1; ++stage) {
      group = emitCopies(iv, b.index(stage));
      iv = b.add(iv, loop.getStep());
    }
    return group;
  }

  /// Makes the loop carry the youngest group and the stage.
  void replaceLoop(Value group) {
    auto interface = cast<LoopLikeOpInterface>(*loop);
    loop = cast<scf::ForOp>(*interface.replaceWithAdditionalIterOperands(
        rewriter, {group, b.index(0)},
        /*replaceInitOperandUsesInLoop=*/false));
  }

  void emitIteration(Value group, Value stage) {
    nvgpu::DeviceAsyncWaitOp::create(b, group,
                                     b.getI32IntegerAttr(numStages - 2));
    gpu::BarrierOp::create(b);
    auto isEqual = [&](Value x, int64_t y) -> Value { return b.isEqual(x, y); };
    Value one = b.index(1);
    Value last = b.select(isEqual(stage, 0), numStages - 1, b.sub(stage, one));
    Value distance = b.mul(loop.getStep(), numStages - 1);
    Value ahead = b.add(loop.getInductionVar(), distance);
    Value next = emitCopies(ahead, last);
    Value nextStage =
        b.select(isEqual(stage, numStages - 1), 0, b.add(stage, one));
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    int64_t count = yield.getNumOperands();
    yield->setOperand(count - 2, next);
    yield->setOperand(count - 1, nextStage);
  }

  scf::ForOp loop;
  SmallVector<vector::TransferReadOp> reads;
  WorkgroupThreads threads;
  IRRewriter rewriter;
  IndexBuilder b;
  int64_t numStages;
  SmallVector<Value> buffers; ///< Of the reads.
};

} // namespace

/// Makes `reads`, of tiles that depend on the iteration of `loop`, reads of
/// buffers in workgroup memory with several stages, into which iterations copy
/// what later ones read. Fails where a tile cannot be found ahead, or two
/// stages do not fit; the loop computes what it did then.
static LogicalResult stageLoop(scf::ForOp loop,
                               ArrayRef<vector::TransferReadOp> reads,
                               WorkgroupThreads threads) {
  return LoopStaging(loop, reads, threads).run();
}

//===----------------------------------------------------------------------===//
// What is copied
//===----------------------------------------------------------------------===//

namespace {

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
bool isCopiedFirstFactor(vector::TransferReadOp read) {
  constexpr int64_t kMostInRegisters = 128;
  VectorType type = read.getVectorType();
  return isFactor(read, 0) && (type.getDimSize(1) > kMostInRegisters ||
                               type.getElementType().isF32());
}

class LaunchConverter {
public:
  explicit LaunchConverter(WorkgroupThreads threads) : threads(threads) {}

  void run() {
    SmallVector<vector::TransferReadOp> queries, others;
    llvm::MapVector<Operation *, SmallVector<vector::TransferReadOp>> ofLoops;
    threads.launch.walk([&](vector::TransferReadOp read) {
      if (!isCopied(read))
        return;
      if (isCopiedFirstFactor(read)) {
        queries.push_back(read);
      } else if (isFactor(read, 1)) {
        auto loop = read->getParentOfType<scf::ForOp>();
        if (loop && threads.launch->isProperAncestor(loop) &&
            dependsOn(read.getBase(), loop.getInductionVar()))
          ofLoops[loop].push_back(read);
        else
          others.push_back(read);
      }
    });
    for (auto &[loop, reads] : ofLoops)
      if (failed(stageLoop(cast<scf::ForOp>(loop), reads, threads)))
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
    // What the buffer held before may still be read.
    if (read->getParentOp() != threads.launch.getOperation())
      gpu::BarrierOp::create(b);
    emitTileCopy(b, threads, {read.getBase(), rows.scales}, tile);
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
};

struct CopyToWorkgroup : attn::impl::CopyToWorkgroupBase<CopyToWorkgroup> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::LaunchOp launch) {
      APInt threads;
      if (matchPattern(launch.getBlockSizeOperandValues().x,
                       m_ConstantInt(&threads)))
        LaunchConverter({launch, threads.getSExtValue()}).run();
    });
  }
};

} // namespace

//===- CopyToWorkgroup.cpp - Factors through workgroup memory -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/Passes.h"
#include "lib/GPU/RareLoop.h"
#include "lib/GPU/WorkgroupCopies/LoopStaging.h"
#include "lib/GPU/WorkgroupCopies/StageBarriers.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_COPYTOWORKGROUP
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

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
bool isCopiedFirstFactor(vector::TransferReadOp read, int64_t rows,
                         bool inWarpgroups) {
  // Of warpgroups, scores are of more keys.
  int64_t most = inWarpgroups ? kMostInRegisters / 2 : kMostInRegisters;
  VectorType type = read.getVectorType();
  return isFactor(read, 0) &&
         (type.getDimSize(1) * rows > most || type.getElementType().isF32());
}

class LaunchConverter {
public:
  LaunchConverter(WorkgroupThreads threads, int64_t warpRows)
      : threads(threads), warpRows(warpRows) {}

  void run() {
    SmallVector<vector::TransferReadOp> queries, others;
    llvm::MapVector<Operation *, SmallVector<vector::TransferReadOp>> ofLoops;
    // What lanes hold of a transpose is of its rows alone.
    int64_t rows = computesTranspose(threads.launch, warpRows)
                       ? kRowsOfTranspose
                       : warpRows;
    threads.launch.walk([&](vector::TransferReadOp read) {
      if (!isCopied(read))
        return;
      if (isCopiedFirstFactor(read, rows, threads.inWarpgroups)) {
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
      queryBytes += getTileBytes(threads, getTypeOfQueries(read));
    for (auto &[loop, reads] : ofLoops)
      if (failed(stageLoop(cast<scf::ForOp>(loop), reads, threads, queryBytes,
                           warpRows)))
        llvm::append_range(others, reads);
    for (vector::TransferReadOp read : others)
      readTile(read, copy(read, ConvertedRows(read).getType()));
    for (vector::TransferReadOp read : queries)
      readWhereUsed(read, copy(read, getTypeOfQueries(read)));
  }

private:
  /// The rows that are copied: of f32, where a warp has few, those that there
  /// may be, in fours, as they are copied.
  VectorType getTypeOfQueries(vector::TransferReadOp read) {
    VectorType type = ConvertedRows(read).getType();
    if (!type.getElementType().isF32() ||
        !computesTranspose(threads.launch, warpRows))
      return type;
    constexpr int64_t kRowsAtOnce = 4;
    int64_t most = std::max<int64_t>(*getMostRows(threads.launch), 1);
    return VectorType::get(
        {int64_t(llvm::alignTo(most, kRowsAtOnce)), type.getDimSize(1)},
        type.getElementType());
  }

  /// Copies a tile of `type` where it is read, and waits.
  Value copy(vector::TransferReadOp read, VectorType type) {
    OpBuilder builder(read);
    IndexBuilder b(read.getLoc(), builder);
    ConvertedRows rows(read);
    // What the memory held before may still be read.
    auto barrier = gpu::BarrierOp::create(b);
    Value buffer = findBuffer(barrier, type);
    Value tile =
        emitTileView(b, buffer, arith::ConstantIndexOp::create(b, 0), type);
    emitTileCopy(b, threads, {read.getBase(), rows.scales}, tile,
                 emitIsAlignedFor(b, read.getBase(), type));
    Value group = nvgpu::DeviceAsyncCreateGroupOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), ValueRange());
    nvgpu::DeviceAsyncWaitOp::create(b, group, b.getI32IntegerAttr(0));
    emitCopyBarrier(b, threads);
    return tile;
  }

  /// Branches of which one alone is executed share a buffer.
  Value findBuffer(Operation *place, VectorType type) {
    auto found = llvm::find_if(buffers, [&](const SharedBuffer &shared) {
      return shared.type == type &&
             llvm::all_of(shared.places, [&](Operation *other) {
               return insideMutuallyExclusiveRegions(other, place);
             });
    });
    if (found == buffers.end()) {
      buffers.push_back({allocateTiles(threads, /*stages=*/1, type), type, {}});
      found = std::prev(buffers.end());
    }
    found->places.push_back(place);
    return found->buffer;
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
  struct SharedBuffer {
    Value buffer;
    VectorType type;
    SmallVector<Operation *> places; ///< Where tiles are copied to it.
  };
  SmallVector<SharedBuffer> buffers;
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
        LaunchConverter(
            {.launch = launch,
             .number = threads.getSExtValue() - getNumProducers(launch),
             .inWarpgroups = launch->hasAttr(kWarpgroupsAttr)},
            *warpRows)
            .run();
    });
  }
};

} // namespace

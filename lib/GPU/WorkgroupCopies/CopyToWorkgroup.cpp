//===- CopyToWorkgroup.cpp - Factors through workgroup memory -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"
#include "lib/GPU/WorkgroupCopies/StagedLoop.h"
#include "lib/Memory/LaterIteration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_COPYTOWORKGROUP
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Whether each use of a read is as the factor `number` of a product.
bool isFactor(vector::TransferReadOp read, unsigned number) {
  return !read->use_empty() &&
         llvm::all_of(read->getUses(), [&](OpOperand &use) {
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() == number;
         });
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
         (type.getElementType().isF16() || type.getElementType().isBF16() ||
          type.getElementType().isF32()) &&
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
    VectorType type = read.getVectorType();
    Value buffer = allocateTiles(threads, /*stages=*/1, type);
    Value tile =
        emitTileView(b, buffer, arith::ConstantIndexOp::create(b, 0), type);
    // What the buffer held before may still be read.
    if (read->getParentOp() != threads.launch.getOperation())
      gpu::BarrierOp::create(b);
    emitTileCopy(b, threads, read.getBase(), tile);
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

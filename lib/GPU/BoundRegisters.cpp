//===- BoundRegisters.cpp - Several workgroups on a multiprocessor --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "lib/GPU/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>

namespace mlir::attn {
#define GEN_PASS_DEF_BOUNDREGISTERS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The most numbers that a loop of a kernel carries.
static int64_t findMostCarried(gpu::GPUFuncOp kernel) {
  int64_t most = 0;
  kernel.walk([&](scf::ForOp loop) {
    most = std::max<int64_t>(
        most, llvm::count_if(loop.getResultTypes(), llvm::IsaPred<FloatType>));
  });
  return most;
}

/// How many workgroups have room on a multiprocessor, with as many registers as
/// kernels with few carried numbers need.
static int64_t countWorkgroups(TargetAttr target, int64_t threads,
                               int64_t memoryBytes) {
  constexpr int64_t kRegisters = 1 << 16, kOfThread = 168;
  return std::min(kRegisters / (threads * kOfThread),
                  target.getGpuSharedBytes() /
                      (memoryBytes + kReservedOfWorkgroup));
}

namespace {
struct BoundRegisters : attn::impl::BoundRegistersBase<BoundRegisters> {
  void runOnOperation() override {
    // Of heads of 64 elements: 32 sums of values, 4 of weights and 2 maxima.
    constexpr int64_t kFew = 40;
    getOperation()->walk([&](gpu::LaunchFuncOp launch) {
      APInt threads, shares, bytes;
      auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
          launch, launch.getKernel());
      Value memory = launch.getDynamicSharedMemorySize();
      if (!kernel || !memory || !matchPattern(memory, m_ConstantInt(&bytes)) ||
          !matchPattern(launch.getBlockSizeOperandValues().x,
                        m_ConstantInt(&threads)) ||
          !matchPattern(launch.getBlockSizeOperandValues().y,
                        m_ConstantInt(&shares)) ||
          findMostCarried(kernel) > kFew)
        return;
      int64_t count = countWorkgroups(
          getTarget(launch), threads.getSExtValue() * shares.getSExtValue(),
          bytes.getSExtValue());
      if (count > 1)
        kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        OpBuilder(kernel).getI32IntegerAttr(int32_t(count)));
    });
  }
};
} // namespace

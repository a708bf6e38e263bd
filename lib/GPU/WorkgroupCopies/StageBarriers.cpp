//===- StageBarriers.cpp - Which stages are full --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/WorkgroupCopies/StageBarriers.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static Value constant(IndexBuilder &b, int64_t number) {
  return arith::ConstantIntOp::create(b, number, 32);
}

Value attn::allocateStageBarriers(WorkgroupThreads consumers, int64_t stages) {
  auto b = OpBuilder::atBlockBegin(&consumers.launch.getBody().front());
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto barriers = memref::AllocaOp::create(
      b, consumers.launch.getLoc(),
      MemRefType::get({2 * stages}, b.getI64Type(), MemRefLayoutAttrInterface{},
                      space));
  // Nothing else may be written there, unless they are invalidated.
  barriers->setAttr(kKeptMemoryAttr, b.getUnitAttr());
  return barriers;
}

/// Those that are full come first.
static Value emitPointer(IndexBuilder &b, Value barriers, int64_t stages,
                         StageBarrier kind, Value stage) {
  constexpr int64_t kBytes = 8;
  Value number = b.add(stage, kind == StageBarrier::Full ? int64_t(0) : stages);
  Value begin = memref::ExtractAlignedPointerAsIndexOp::create(b, barriers);
  Value address = b.add(begin, b.mul(number, kBytes));
  address = arith::IndexCastOp::create(b, b.getI64Type(), address);
  auto type = LLVM::LLVMPointerType::get(
      b.getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  return LLVM::IntToPtrOp::create(b, type, address);
}

void attn::emitInit(IndexBuilder &b, Value barriers, int64_t stages,
                    WorkgroupThreads consumers, WorkgroupThreads producers) {
  Value isFirst = b.isEqual(consumers.launch.getThreadIds().x, 0);
  b.when(isFirst, [&] {
    for (int64_t stage = 0; stage < stages; ++stage)
      for (auto [kind, count] :
           {std::pair(StageBarrier::Full, 2 * producers.number),
            std::pair(StageBarrier::Empty, consumers.number / kLanesOfWarp)})
        NVVM::MBarrierInitOp::create(
            b, emitPointer(b, barriers, stages, kind, b.index(stage)),
            constant(b, count), /*predicate=*/Value());
  });
}

void attn::emitWait(IndexBuilder &b, Value barriers, int64_t stages,
                    StageBarrier kind, Value stage, Value parity) {
  // A hint: it is asked again until the phase has ended.
  constexpr int64_t kNanoseconds = 10000000;
  NVVM::MBarrierTryWaitParityOp::create(
      b, emitPointer(b, barriers, stages, kind, stage), parity,
      constant(b, kNanoseconds));
}

static void emitArrive(IndexBuilder &b, Value barrier) {
  NVVM::MBarrierArriveOp::create(
      b, b.getI64Type(), barrier, /*count=*/Value(),
      NVVM::MemScopeKindAttr::get(b.getContext(), NVVM::MemScopeKind::CTA));
}

void attn::emitArriveOfCopies(IndexBuilder &b, Value barriers, int64_t stages,
                              Value stage) {
  Value barrier = emitPointer(b, barriers, stages, StageBarrier::Full, stage);
  NVVM::CpAsyncMBarrierArriveOp::create(b, barrier,
                                        /*noinc=*/b.getBoolAttr(true));
  emitArrive(b, barrier);
}

void attn::emitArriveOfReaders(IndexBuilder &b, Value barriers, int64_t stages,
                               Value stage, WorkgroupThreads consumers) {
  Value lane = b.rem(consumers.launch.getThreadIds().x, b.index(kLanesOfWarp));
  b.when(b.isEqual(lane, 0), [&] {
    emitArrive(b, emitPointer(b, barriers, stages, StageBarrier::Empty, stage));
  });
}

void attn::emitBarrierOfAll(IndexBuilder &b, WorkgroupThreads consumers) {
  NVVM::BarrierOp::create(
      b, TypeRange(), constant(b, kBarrierOfAll),
      constant(b, consumers.number + getNumProducers(consumers.launch)),
      NVVM::BarrierReductionAttr(), Value());
}

void attn::emitCopyBarrier(IndexBuilder &b, WorkgroupThreads threads) {
  if (threads.inWarpgroups)
    emitProxyFence(b);
  gpu::BarrierOp::create(b);
}

void attn::emitProxyFence(IndexBuilder &b) {
  NVVM::FenceProxyOp::create(
      b,
      NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

//===- StageBarriers.h - Which stages are full ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_WORKGROUPCOPIES_STAGEBARRIERS_H
#define ATTN_GPU_WORKGROUPCOPIES_STAGEBARRIERS_H

#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/WorkgroupCopies/TileCopy.h"

namespace mlir::attn {

/// What an mbarrier (PTX ISA 8.5, 9.7.13.15) tells of a stage of copies: that
/// producers have filled it, or that all consumers have read it. A thread waits
/// for the phase of a parity, which is 0 the first time.
enum class StageBarrier { Full, Empty };

/// Workgroup memory for the barriers of `stages`, at the start of the launch.
Value allocateStageBarriers(WorkgroupThreads consumers, int64_t stages);

/// By one consumer: the copies of each producer, and what it stores itself,
/// fill a stage, and each warp of consumers empties it.
void emitInit(IndexBuilder &builder, Value barriers, int64_t stages,
              WorkgroupThreads consumers, WorkgroupThreads producers);

/// Waits for the phase of a parity, an i32.
void emitWait(IndexBuilder &builder, Value barriers, int64_t stages,
              StageBarrier kind, Value stage, Value parity);

/// This thread has stored its part of a stage, but for the copies that it has
/// started, which arrive on their own.
void emitArriveOfCopies(IndexBuilder &builder, Value barriers, int64_t stages,
                        Value stage);

/// This warp has read a stage.
void emitArriveOfReaders(IndexBuilder &builder, Value barriers, int64_t stages,
                         Value stage, WorkgroupThreads consumers);

/// Waits for all threads, consumers and producers.
void emitBarrierOfAll(IndexBuilder &builder, WorkgroupThreads consumers);

/// What this thread has written, or seen written, is seen by products of
/// warpgroups, which read memory on a way of their own, the async proxy (PTX
/// ISA 8.5, 8.5).
void emitProxyFence(IndexBuilder &builder);

/// Behind it, all threads have what each has waited for.
void emitCopyBarrier(IndexBuilder &builder, WorkgroupThreads threads);

} // namespace mlir::attn

#endif // ATTN_GPU_WORKGROUPCOPIES_STAGEBARRIERS_H

//===- LaneMemory.h - Memory of a workgroup for its lanes -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_VECTORTOLANES_LANEMEMORY_H
#define ATTN_GPU_VECTORTOLANES_LANEMEMORY_H

#include "lib/Plan/Workgroups.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Which lane a thread is; see attn-distribute-to-lanes.
struct LaneIndex {
  Value thread;      ///< In the workgroup.
  Value lane;        ///< In its warp.
  Value firstRow;    ///< 16 * w + g
  Value firstColumn; ///< 2 * t
  Value isLeader;    ///< i1: t is 0
};

/// Emits the index of this lane at the start of a launch.
LaneIndex emitLaneIndex(ImplicitLocOpBuilder &builder, gpu::LaunchOp launch);

/// Workgroup memory of a launch, all of it dynamic.
class WorkgroupMemory {
public:
  explicit WorkgroupMemory(gpu::LaunchOp launch) : launch(launch) {}

  /// Emits, at the start of the launch, memory of its own for a buffer of a
  /// static shape.
  Value allocate(MemRefType type);

  /// Gives the launch the size of what was allocated. Emits an error if it is
  /// more than a workgroup may have.
  LogicalResult setSize();

private:
  gpu::LaunchOp launch;
  Value base;
  int64_t size = 0; ///< Bytes.
};

} // namespace mlir::attn

#endif // ATTN_GPU_VECTORTOLANES_LANEMEMORY_H

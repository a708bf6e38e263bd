//===- LoopStaging.h - Tiles copied ahead of a loop -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_WORKGROUPCOPIES_LOOPSTAGING_H
#define ATTN_GPU_WORKGROUPCOPIES_LOOPSTAGING_H

#include "lib/GPU/WorkgroupCopies/TileCopy.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// Makes `reads`, of tiles that depend on the iteration of `loop`, reads of
/// buffers in workgroup memory with several stages, into which iterations copy
/// what later ones read, beside the queries in it. Fails where a tile cannot be
/// found ahead, or two stages do not fit; the loop computes what it did then.
LogicalResult stageLoop(scf::ForOp loop, ArrayRef<vector::TransferReadOp> reads,
                        WorkgroupThreads threads, int64_t queryBytes,
                        int64_t warpRows);

} // namespace mlir::attn

#endif // ATTN_GPU_WORKGROUPCOPIES_LOOPSTAGING_H

//===- AttnToVector.h - Lowering single ops to vectors ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_ATTNTOVECTOR_H
#define ATTN_CPU_ATTNTOVECTOR_ATTNTOVECTOR_H

#include "dialect/AttnOps.h"
#include "lib/CPU/AttnToVector/LaneBuilder.h"

namespace mlir::attn {

/// Replaces the op, which is on memrefs of f32 or f64, by vector code. Fails
/// with an error if it is not.
LogicalResult lowerOnlineSoftmax(OnlineSoftmaxOp op, TargetAttr target);

/// Replaces the op, which is on a memref of f32 or f64, by vector code. Fails
/// with an error if it is not.
LogicalResult lowerOnlineDropout(OnlineDropoutOp op, TargetAttr target);

/// Replaces the op, which is on a memref, by vector code. Fails with an error
/// if it is not.
LogicalResult lowerAllFinite(AllFiniteOp op, TargetAttr target);

/// Replaces the op, which is on memrefs, by vector code, in parallel where the
/// table is large. Fails with an error if it is not.
LogicalResult lowerBlockRange(BlockRangeOp op, TargetAttr target);

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_ATTNTOVECTOR_H

//===- PositionScores.h - Scores of a tile, one by one ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_ONLINETOVECTOR_POSITIONSCORES_H
#define ATTN_GPU_ONLINETOVECTOR_POSITIONSCORES_H

#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Applies the regions of `op` to `scores`, a vector of queries and keys in
/// f32, position by position, with a guard around what may be undefined (A12).
/// The threads of the workgroup share the positions, and the scores in
/// `memory`, a matrix in workgroup memory. Those that are hidden, or not there,
/// are -inf.
Value emitPositionScores(OpBuilder &builder, OnlineAttentionOp op, Value scores,
                         Value numKeys, Value memory);

} // namespace mlir::attn

#endif // ATTN_GPU_ONLINETOVECTOR_POSITIONSCORES_H

//===- DropoutToVector.h - Dropout of a block as vector code ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_ONLINETOVECTOR_DROPOUTTOVECTOR_H
#define ATTN_GPU_ONLINETOVECTOR_DROPOUTTOVECTOR_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// `weights`, a vector (queries, keys) of f32, of the block of `op` after its
/// dropout (A8), if it has one.
FailureOr<Value> emitDropout(OpBuilder &builder, OnlineAttentionOp op,
                             Value weights);

} // namespace mlir::attn

#endif // ATTN_GPU_ONLINETOVECTOR_DROPOUTTOVECTOR_H

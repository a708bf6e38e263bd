//===- LocalAttention.h - The attention of one rank -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_LOCALATTENTION_H
#define ATTN_SHARDING_LOCALATTENTION_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/Extents.h"

namespace mlir::attn {

/// Emits what a rank computes of `whole`, whose query, key and value are the
/// rank's own by now: the parts of its results.
SmallVector<Value> emitLocalAttention(IndexBuilder &b, AttentionOp whole,
                                      const AttentionExtents &extents);

} // namespace mlir::attn

#endif // ATTN_SHARDING_LOCALATTENTION_H

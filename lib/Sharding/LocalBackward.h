//===- LocalBackward.h - The gradients of attention on one rank -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_LOCALBACKWARD_H
#define ATTN_SHARDING_LOCALBACKWARD_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/Extents.h"

namespace mlir::attn {

/// The ranks along an axis.
struct RankGroup {
  uint64_t stride = 1, size = 1;
};

/// Those along which the dimensions of an attention are split, one where they
/// are whole.
struct BackwardGroups {
  RankGroup batch, heads, queries, keys;
};

/// Emits what a rank computes of `whole`, whose operands are the rank's own by
/// now: the parts of its results. Where rows of query and key are split along
/// one axis, `exchange` says how it comes to the keys of others.
SmallVector<Value> emitLocalBackward(IndexBuilder &b, AttentionBackwardOp whole,
                                     StringRef exchange,
                                     const AttentionExtents &extents,
                                     const BackwardGroups &groups);

} // namespace mlir::attn

#endif // ATTN_SHARDING_LOCALBACKWARD_H

//===- VisibleSpans.h - Which rows of keys ranks exchange -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_VISIBLESPANS_H
#define ATTN_SHARDING_VISIBLESPANS_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/Extents.h"

namespace mlir::attn {

/// The `spans` of attn.rank_block, `(ranks, 4)` of index: what the mask may
/// keep of the keys of each rank for the queries of each other. `whole` is the
/// op before it is split.
Value emitVisibleSpans(IndexBuilder &b, AttentionOp whole,
                       const AttentionExtents &extents);

} // namespace mlir::attn

#endif // ATTN_SHARDING_VISIBLESPANS_H

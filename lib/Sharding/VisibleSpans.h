//===- VisibleSpans.h - Which rows of keys ranks exchange -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_VISIBLESPANS_H
#define ATTN_SHARDING_VISIBLESPANS_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/BlockForm.h"

namespace mlir::attn {

/// The `spans` of attn.rank_block, `(ranks, 4)` of index, or `(ranks, 8)` in
/// zig-zag order: what the mask may keep of the keys of each rank for the
/// queries of each other, and all of its own in zig-zag order. `whole` is the
/// op before it is split.
template <typename Op>
Value emitVisibleSpans(IndexBuilder &b, Op whole,
                       const AttentionExtents &extents);

/// What the mask may keep of a piece of the keys for a piece of the queries:
/// rows from the first of that piece on.
template <typename Op>
RowSpan emitVisibleRows(IndexBuilder &b, Op whole,
                        const AttentionExtents &extents, Value queryPiece,
                        Value keyPiece);

/// The rows of a piece of the queries, from its first on, that the mask may let
/// see any of the `visible` ones of a piece of the keys, and perhaps others
/// between and beside them.
template <typename Op>
RowSpan emitSeeingRows(IndexBuilder &b, Op whole,
                       const AttentionExtents &extents, Value queryPiece,
                       Value keyPiece, RowSpan visible);

} // namespace mlir::attn

#endif // ATTN_SHARDING_VISIBLESPANS_H

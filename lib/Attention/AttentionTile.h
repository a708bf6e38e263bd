//===- AttentionTile.h - Tiles of queries in parallel loops -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_ATTENTIONTILE_H
#define ATTN_ATTENTION_ATTENTIONTILE_H

#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// The rows of queries of a tile.
struct QueryRows {
  OpFoldResult first, count;
};

/// The rows of the tile at `iv`, of `queries` but for a smaller one, which has
/// the first rows rather than the last: a causal mask leaves those the fewest
/// keys to waste lanes on.
QueryRows emitQueryRows(OpBuilder &b, Location loc, Value iv,
                        OpFoldResult length, int64_t queries);

/// Replaces a packed batch by a parallel loop over query heads and tiles of
/// `queries` rows, each of which finds its sequence. Fails, without a change,
/// if the sequences can not be tiled.
LogicalResult tileSequences(RewriterBase &rewriter, AttentionOp op,
                            int64_t queries);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_ATTENTIONTILE_H

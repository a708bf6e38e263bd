//===- TilePrefetch.h - Rows fetched for later tiles ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a tile fetches for those after it, as `attn.prefetch` before it. Its
// loop over keys spreads them: some rows in each block, and in a block between
// different steps. A processor has few requests under way, and all at once they
// would wait for each other.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_TILEPREFETCH_H
#define ATTN_ONLINE_TILEPREFETCH_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

/// By how many rows the tile `op` of a parallel loop moves on from one
/// iteration to the next, a static number; less than 0 if it moves back, and 0
/// if it has all queries.
int64_t getTileStep(AttentionOp op);

/// Fetches the rows that slices of the next iteration take as those of `op` do,
/// of queries and of the output; and those of the output that `op` writes, at
/// the end.
void emitNextRows(OpBuilder &b, AttentionOp op);

/// Fetches keys and values, unless they are in caches, that `op`, which sees
/// those of [low, low + count), does not see, but later tiles do: a window
/// moves on by the queries of a tile. Where a range stays for some tiles and
/// then jumps, as between documents, each of these fetches others of the next
/// keys: as far away as the tile's queries still are from where the range ends.
/// If every tile of a head sees the keys from the first on, and there are not
/// many, fetches as many of the next head as the tile has queries: of the first
/// tile, all would be missing.
void emitLaterKeys(OpBuilder &b, OnlineAttentionOp op, OpFoldResult low,
                   OpFoldResult count);

/// Spreads what is fetched before `rounds` in its block over the blocks of
/// `block` of `count` keys that the loop `keys` in it goes through. What is
/// written is fetched after `rounds`.
void spreadPrefetches(RewriterBase &rewriter, Operation *rounds,
                      scf::ForOp keys, OpFoldResult count, int64_t block);

/// What is fetched before `op` in its block.
SmallVector<PrefetchOp> findPrefetches(Operation *op);

/// Fetches the rows of `prefetch` here, or, with `spread`, while the next
/// operation computes; if `numParts` is not 1, a part of them.
void emitPart(OpBuilder &b, PrefetchOp prefetch, bool spread, int64_t part = 0,
              int64_t numParts = 1);

} // namespace mlir::attn

#endif // ATTN_ONLINE_TILEPREFETCH_H

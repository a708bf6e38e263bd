//===- CacheRows.h - Where the rows of a cache lie --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lowerings of attn.cache_append and attn.cache_read share. All of it is
// code of a few integer operations and slices; nothing is copied.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_CACHE_CACHEROWS_H
#define ATTN_DIALECT_CACHE_CACHEROWS_H

#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// The read that a key or a value is, perhaps cast; null if it is something
/// else.
CacheReadOp getCacheRead(Value rows);

/// A row of a cache: an index of its first dimension (a sequence or a page),
/// and one of its third.
struct RowPlace {
  Value entry, row;
};

/// Where a cache on tensors stores `position` of sequence `n` (C1 to C3).
RowPlace createRowPlace(OpBuilder &builder, Location loc, CacheAppendOp op,
                        Value n, Value position);
RowPlace createRowPlace(OpBuilder &builder, Location loc, CacheReadOp op,
                        Value n, Value position);

/// The positions that are stored of the first ones of sequence `n`, those that
/// `op` reads: from `begin` up to `end`, both 0 if there are none. The others
/// are absent (C12).
struct StoredPositions {
  Value begin, end;
};
StoredPositions createStoredPositions(OpBuilder &builder, Location loc,
                                      CacheReadOp op, Value n);

/// Some rows as they are stored.
struct StoredRows {
  Value elements; ///< (1, heads, count, D), of the cache's element type.
  Value scales;   ///< (1, heads, count); null unless elements are i8.
};

/// The rows of `count` positions from `position` on, of `numHeads` heads from
/// `head` on, of sequence `n`: slices of the cache. The positions must be
/// stored, and must not leave a page, or wrap around the end of a ring.
StoredRows extractStoredRows(OpBuilder &builder, Location loc, CacheReadOp op,
                             Value n, OpFoldResult head, OpFoldResult numHeads,
                             Value position, OpFoldResult count);

} // namespace mlir::attn

#endif // ATTN_DIALECT_CACHE_CACHEROWS_H

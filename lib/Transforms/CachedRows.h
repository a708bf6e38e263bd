//===- CachedRows.h - Rows that lie in a cache ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_CACHEDROWS_H
#define ATTN_TRANSFORMS_CACHEDROWS_H

#include "dialect/AttnOps.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace mlir::attn {

/// A matrix of keys or values that is positions of one head of one sequence of
/// an `attn.cache_read`.
class CachedRows {
public:
  /// Nothing if `matrix` is something else, or if rows of the cache are not
  /// those of the matrix: of i8, of another float type, or longer.
  static std::optional<CachedRows> match(Value matrix);

  /// Positions that are side by side wherever they begin at a multiple of it:
  /// of a page, or a ring. 0 if all are; nothing if that is not known.
  std::optional<int64_t> getUnit();

  /// The positions of the range that are stored, an attention may see no others
  /// (C12).
  std::pair<Value, Value> clampToStored(OpBuilder &b, Location loc, Value begin,
                                        Value end);

  /// `count` rows from `position` on, as they lie in the cache.
  Value extract(OpBuilder &b, Location loc, Value position, OpFoldResult count);

  CacheReadOp getRead() { return read; }
  /// The position of the matrix's first row.
  OpFoldResult getFirst() { return first; }

private:
  CachedRows(CacheReadOp read, OpFoldResult batch, OpFoldResult head,
             OpFoldResult first)
      : read(read), batch(batch), head(head), first(first) {}

  CacheReadOp read;
  OpFoldResult batch, head, first;
};

} // namespace mlir::attn

#endif // ATTN_TRANSFORMS_CACHEDROWS_H

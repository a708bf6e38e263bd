//===- CachedRows.h - Rows that lie in a cache ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_CACHEDROWS_H
#define ATTN_ONLINE_CACHEDROWS_H

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace mlir::attn {

/// The slice of a tensor `(B, H, S, D)` that takes the head that `matrix` is,
/// or rows of it; or null if it is something else.
tensor::ExtractSliceOp getHeadSlice(Value matrix);

/// A matrix of keys or values that is positions of one head of one sequence of
/// an `attn.cache_read`: whole rows, or their first elements, as the values of
/// latent attention are of its keys.
class CachedRows {
public:
  CachedRows(CacheReadOp read, OpFoldResult batch, OpFoldResult head,
             OpFoldResult first, int64_t size, Value all = {})
      : read(read), batch(batch), head(head), first(first), size(size),
        all(all) {}
  CacheReadOp getRead() { return read; }
  /// Elements of a row.
  int64_t getSize() const { return size; }

  /// Nothing if `matrix` is something else.
  static std::optional<CachedRows> match(Value matrix);

  /// Of the cache.
  Type getElementType() { return read.getCacheType().getElementType(); }

  /// Positions that are side by side wherever they begin at a multiple of it:
  /// of a page, or a ring. 0 if all are; nothing if that is not known.
  std::optional<int64_t> getUnit();

  /// The positions of the range that are stored, an attention may see no others
  /// (C12).
  std::pair<Value, Value> clampToStored(IndexBuilder &b, Value begin,
                                        Value end);

  /// Some rows of the one head.
  struct Rows {
    Value elements; ///< (count, size), of the cache's element type.
    Value scales;   ///< (count); null unless elements are i8.
  };
  /// `count` rows from `position` on, as they lie in the cache: where they are
  /// side by side.
  Rows extract(IndexBuilder &b, Value position, OpFoldResult count);

  /// The same as a matrix of its own, of the rows that were matched.
  Value view(IndexBuilder &b, OpFoldResult position, OpFoldResult count);

  /// The position of the matrix's first row.
  OpFoldResult getFirst() { return first; }

  /// Room for `count` rows, with nothing in it.
  Rows allocate(IndexBuilder &b, int64_t count);

  /// Copies the rows of positions from `begin` up to `end`, wherever they lie,
  /// to those of `rows`, the first of which is that of position `first`.
  Rows gather(IndexBuilder &b, Value begin, Value end, Value first, Rows rows);

  /// How many rows of a pack are side by side wherever packs begin, 0 if too
  /// few to take them from where they lie.
  int64_t getRowsOfPack(int64_t rowsPerPack);

  /// Transposes `count` rows, from matrix row `first` on, into `pack`,
  /// `(size, rows)`, with zeros for those that are not stored.
  Value emitPack(IndexBuilder &b, OpFoldResult first, OpFoldResult count,
                 Value pack);

  /// The first `count` of some rows.
  static Rows take(IndexBuilder &b, Rows rows, OpFoldResult count);

private:
  /// The same rows copied, as a matrix of `elementType`.
  Value gatherPack(IndexBuilder &b, Value base, Value from, Value to,
                   int64_t rowsPerPack, Type elementType);

  CacheReadOp read;
  OpFoldResult batch, head, first;
  int64_t size; ///< Of a row, in elements.
  Value all;    ///< The matrix of all positions, if one was matched.
};

/// The first `count` of a tensor's first dimension: rows, say, or packs.
Value takeRows(IndexBuilder &b, Value tensor, OpFoldResult count);

/// Emits `body` for the positions from `begin` up to `end`, those between two
/// multiples of `unit` at a time: `count` from `from` on.
using PartBody = function_ref<SmallVector<Value>(Value from, OpFoldResult count,
                                                 ValueRange carried)>;
SmallVector<Value> forEachPart(IndexBuilder &b, Value begin, Value end,
                               OpFoldResult unit, ValueRange carried,
                               PartBody body);

/// Erases reads of which only sizes are used, with their slices: sizes are
/// those of what is read from.
LogicalResult eraseUnreadCaches(Operation *op);

} // namespace mlir::attn

#endif // ATTN_ONLINE_CACHEDROWS_H

//===- BlockPages.h - A block of keys in several pages ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_BLOCKPAGES_H
#define ATTN_ONLINE_BLOCKPAGES_H

#include "lib/Online/CachedRows.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// Keys and values of a block `in_pages`. Nothing of them is copied: products
/// of keys have a loop over pages, and packs are made of rows in several.
/// Of few queries, which read from memory, the product of a page fetches the
/// values of the same positions, and that of weights and values the keys of the
/// next block, as `BlockStreams` has it where rows are side by side.
class BlockPages {
public:
  /// Of `block`, in a loop over blocks if `loop` is not null. Fails if its rows
  /// are not what `in_pages` says.
  static FailureOr<BlockPages> match(OpBuilder &b, OnlineAttentionOp block,
                                     scf::ForOp loop);

  /// Has `product` write the rows of `scores` that those of `keys` are for, one
  /// page after the other: positions from `first` on, `count` in all.
  using Product = function_ref<Value(Value keys, Value scores)>;
  Value multiplyKeys(IndexBuilder &b, Value first, OpFoldResult count,
                     Value scores, Product product);

  /// The packs `(T, Dv, 32)` of the values of `count` positions from `first`
  /// on, in a buffer for `maximumPacks`.
  Value packValues(IndexBuilder &b, Value first, OpFoldResult count,
                   int64_t maximumPacks, OpFoldResult numPacks);

  /// Has `sum` add to `accumulator` what the values have, and the rows of
  /// `weights` that are theirs, one page after the other.
  using Sum =
      function_ref<Value(Value values, Value weights, Value accumulator)>;
  Value addValues(IndexBuilder &b, Value first, OpFoldResult count,
                  Value weights, Value accumulator, Sum sum);

  /// Fetches the keys of the block after that from `first` on, while the
  /// operation that follows computes.
  void fetchNextKeys(IndexBuilder &b, Value first);
  /// Fetches nothing from here on.
  void stopFetching() { keysAhead = 0; }

private:
  BlockPages(CachedRows key) : key(key) {}
  int64_t getRowsAtATime(CachedRows &rows);
  void fetchValues(IndexBuilder &b, Value from);

  CachedRows key;
  std::optional<CachedRows> value;
  int64_t keysAhead = 0; ///< Those of a block; 0: nothing is fetched.
  Value end;             ///< Of the positions of all blocks.
};

} // namespace mlir::attn

#endif // ATTN_ONLINE_BLOCKPAGES_H

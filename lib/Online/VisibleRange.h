//===- VisibleRange.h - Keys that a tile of queries may see -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_VISIBLERANGE_H
#define ATTN_ONLINE_VISIBLERANGE_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// The rows `begin <= r < end` of some keys that a mask may keep.
struct VisibleRows {
  Value begin, end;
  bool hasGaps = false; ///< As those of `VisibleKeys`.
};

/// The rows of the keys of `op` that its mask may keep, with
/// `0 <= begin <= end`. Where the mask reads tables in blocks of `block` keys,
/// they start at a multiple of that, counted from key 0, if `block` is not 0,
/// and those at both ends that the tables hide are left out, by loops over
/// them.
VisibleRows emitVisibleRange(OpBuilder &b, OnlineAttentionOp op, int64_t block);

/// The same for the mask on a block of keys alone, of which there is one at
/// least.
VisibleRows emitVisibleRowsOfBlock(OpBuilder &b, OnlineAttentionOp block);

/// The same as `emitVisibleRange`, of a cache those that are stored, from a
/// multiple of `unit` on, which is a power of 2. There may be none: `end` may
/// be less than `begin`.
std::pair<Value, Value>
emitVisibleStoredRange(OpBuilder &b, OnlineAttentionOp op, int64_t unit);

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// What is known of a block of keys before its scores are, each an i1.
struct BlockFacts {
  Value isEmpty;   ///< The mask keeps nothing; null if never.
  Value isPartial; ///< It may not keep everything.
  Value isDefined; ///< The regions have values everywhere.
};

/// Asks the mask analysis about the positions and keys of `op`.
BlockFacts emitBlockFacts(OpBuilder &builder, OnlineAttentionOp op);

/// Whether keys can be left out of the blocks of `op`: where queries are lanes,
/// as blocks are then of any number of keys.
bool canTrimBlocks(OnlineAttentionOp op);

/// A block of keys, of which the mask may hide some at both ends.
struct TrimmedBlock {
  OnlineAttentionOp op;
  /// In pairs, how many of the first keys of `op` the mask hides: less than a
  /// pack, where the values begin. Else null: it hides none that `op` could do
  /// without.
  Value lead;
};

/// A copy of a block of 1 to `maximumKeys` keys without those before the first
/// that the mask may keep and after the last, as far as products, which take
/// several at a time, gain from it. Only if the mask has gaps is there anything
/// to leave out: else fails, without a change. Nothing is left out where
/// `isPartial` is false.
FailureOr<TrimmedBlock> emitTrimmedBlock(OpBuilder &b, OnlineAttentionOp block,
                                         Value isPartial, int64_t maximumKeys);

} // namespace mlir::attn

#endif // ATTN_ONLINE_VISIBLERANGE_H

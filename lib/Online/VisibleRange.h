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

/// The rows `begin <= r < end` of some keys.
struct RowRange {
  Value begin, end;
};

/// Those that a mask may keep.
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

/// Whether the range of `emitVisibleRange` begins at key 0 wherever the
/// queries of `op` are, which begins at key 0 itself.
bool seesFirstKey(OpBuilder &b, OnlineAttentionOp op);

/// The same as `emitVisibleRange`, of a cache those that are stored, from a
/// multiple of `unit` on, which is a power of 2. There may be none: `end` may
/// be less than `begin`.
RowRange emitVisibleStoredRange(OpBuilder &b, OnlineAttentionOp op,
                                int64_t unit);

} // namespace mlir::attn

#endif // ATTN_ONLINE_VISIBLERANGE_H

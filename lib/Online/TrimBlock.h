//===- TrimBlock.h - Blocks without what a mask hides -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_TRIMBLOCK_H
#define ATTN_ONLINE_TRIMBLOCK_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

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

#endif // ATTN_ONLINE_TRIMBLOCK_H

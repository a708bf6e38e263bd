//===- PrefetchShares.h - Rows fetched while something computes -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_PREFETCHSHARES_H
#define ATTN_MEMORY_PREFETCHSHARES_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Prefetches whose rows an operation after them fetches in shares while it
/// computes: a processor has few requests under way, and loads wait behind more
/// of them.
class PrefetchShares {
public:
  PrefetchShares() = default;
  /// Of the prefetches before `op`, from which at most `producer` and what
  /// touches no memory separates them.
  explicit PrefetchShares(Operation *op, Operation *producer = nullptr);

  bool empty() const { return prefetches.empty(); }
  /// The last operation before them that touches memory; or null.
  Operation *getPrevious() const { return previous; }
  /// Cuts the rows of each prefetch into `numShares`, an index, for what is
  /// emitted from here on.
  void cut(OpBuilder &b, Location loc, Value numShares);
  /// Fetches the share of number `number`, an index. All shares have as many
  /// rows, though the last row comes again: the end of a loop that runs a few
  /// times, now more and now less, would be mispredicted.
  void emit(OpBuilder &b, Location loc, Value number) const;
  /// Erases the prefetches, of which all shares are emitted.
  void erase();

private:
  SmallVector<PrefetchOp, 2> prefetches;
  SmallVector<Value, 2> sizes; ///< Of a share of each.
  Operation *previous = nullptr;
};

/// Whether `op` neither reads nor writes memory that was there before.
bool touchesNoMemory(Operation *op);

} // namespace mlir::attn

#endif // ATTN_MEMORY_PREFETCHSHARES_H

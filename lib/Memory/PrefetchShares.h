//===- PrefetchShares.h - Rows fetched while something computes -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_PREFETCHSHARES_H
#define ATTN_MEMORY_PREFETCHSHARES_H

#include "dialect/AttnOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Prefetches with `spread`, whose rows an operation after them fetches in
/// shares while it computes.
class PrefetchShares {
public:
  PrefetchShares() = default;
  /// Of the prefetches before `op`, from which at most elementwise operations
  /// and what touches no memory separate it.
  explicit PrefetchShares(Operation *op);

  bool empty() const { return prefetches.empty(); }
  /// The last other operation before them; or null.
  Operation *getPrevious() const { return previous; }
  /// The one with `stream`; or null.
  PrefetchOp getStream() const { return stream; }
  /// Lines of the op's share of the longest; 0 if it is not known how many rows
  /// each has.
  int64_t getNumLines() const;
  /// Cuts the rows of each prefetch into `numShares`, an index, for what is
  /// emitted from here on.
  void cut(ImplicitLocOpBuilder &b, Value numShares);
  /// Fetches the share of number `number`, an index: lines, if it is known how
  /// many shares and rows there are, else rows. All shares have as many, though
  /// the last one comes again: the end of a loop that runs a few times, now
  /// more and now less, would be mispredicted.
  void emit(ImplicitLocOpBuilder &b, Value number) const;
  /// Erases the prefetches, which are emitted.
  void erase();

private:
  /// How much of a prefetch is in a share: rows, or, where `numRows` is null,
  /// lines.
  struct Share {
    Value first; ///< The number of the op's first share; null: 0.
    int64_t numLines;
    int64_t end; ///< Of the last line, if shares go beyond it, else 0.
    Value numRows;
  };
  SmallVector<PrefetchOp, 2> prefetches;
  PrefetchOp stream;
  SmallVector<Share, 2> shares;
  Operation *previous = nullptr;
};

/// Fetches what `op`, which is on buffers, does, row by row.
void emitPrefetches(OpBuilder &b, PrefetchOp op);

/// Whether `op` neither reads nor writes memory that was there before.
bool touchesNoMemory(Operation *op);

} // namespace mlir::attn

#endif // ATTN_MEMORY_PREFETCHSHARES_H

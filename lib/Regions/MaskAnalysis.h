//===- MaskAnalysis.h - Which blocks of keys a mask keeps -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of a score or mask region over a rectangle of positions of
// queries and keys, without evaluating it anywhere: interval arithmetic, as
// code of a few scalar operations. Where the rectangle is constant, so is the
// answer, unless it depends on what is in a table. An answer is never wrong; it
// may be that nothing is known.
//
// The code is of arith, and for captured tables of scf and of tensor or memref.
// It is safe to run for any rectangle, whatever the tables hold. Of tables, it
// reads a few numbers: TableRanges.h says which.
//
// Offsets and windows are bounded (A5); that there are at most 2^60 rows of
// queries and of keys is taken for granted.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_MASKANALYSIS_H
#define ATTN_REGIONS_MASKANALYSIS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace mlir::attn {

/// The index values from `low` to `high`, both included.
struct IndexRange {
  Value low, high;
};

/// Where a region is asked about: one batch (or sequence), one head, a range of
/// positions of queries and a range of keys, neither of them empty.
struct RegionTile {
  Value batch, head;
  IndexRange positions, keys;
  /// What the last arguments of the region stand for.
  ValueRange captures;
};

/// Two i1. A tile for which neither is true must be masked key by key.
struct BlockVerdict {
  /// The mask is defined and false everywhere.
  Value isEmpty;
  /// The mask is defined and true everywhere.
  Value isFull;
};

/// Classifies a tile under a mask region.
BlockVerdict emitBlockVerdict(OpBuilder &builder, Location loc, Region &mask,
                              const RegionTile &tile);

/// The keys `begin <= j < end`, with `0 <= begin <= end <= key count`.
struct VisibleKeys {
  Value begin, end;
  /// The mask may hide keys between two that it keeps from a tile, so that the
  /// range of a few of them can be shorter than what it has of this one.
  bool hasGaps = false;
};

/// A range with every key that the mask keeps, or leaves undefined, for any of
/// the positions. As short as possible for the named masks that compare `j`
/// with something: for `sliding_window(255, 0)` it is from the first position
/// less 255 up to the last.
VisibleKeys emitVisibleKeys(OpBuilder &builder, Location loc, Region &mask,
                            Value batch, Value head, IndexRange positions,
                            Value keyCount, ValueRange captures);

/// The same for the keys of a tile: a range within them.
VisibleKeys emitVisibleKeys(OpBuilder &builder, Location loc, Region &mask,
                            const RegionTile &tile);

/// What of a mask hides no block of keys as a whole, whatever the tile: the
/// operations with a truth value of which nothing is known, with what is known
/// of tables at the insertion point. Leaves no code.
SmallVector<Operation *> findUnknownConditions(OpBuilder &builder, Location loc,
                                               Region &mask,
                                               ValueRange captures);

/// An i1: every operation of the region has a result everywhere in the tile
/// (A12), so that it may be evaluated without guards: each load is inside its
/// tensor, no division is by zero, and so on. True if the region is empty.
/// Where it is false whatever the tile, `unproven` becomes an operation that
/// may have no result.
Value emitIsDefined(OpBuilder &builder, Location loc, Region &region,
                    const RegionTile &tile, Operation **unproven = nullptr);

} // namespace mlir::attn

#endif // ATTN_REGIONS_MASKANALYSIS_H

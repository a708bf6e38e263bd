//===- SpreadPrefetch.h - Rows fetched in the blocks of a tile --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_SPREADPREFETCH_H
#define ATTN_MEMORY_SPREADPREFETCH_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"

#include <array>

namespace mlir::attn {

/// Keys fetched ahead are less far away, so that they stay in the cache. A
/// power of 2.
inline constexpr int64_t kFarthestKey = 1024;

/// Rows [first, last).
struct RowRange {
  Value first, last;
};

/// Prefetches the lines of `source` at `indices`, for the indices of `range` in
/// dimension `dim` and all in the last: into the second-level cache to read, or
/// into the first to write.
void emitPrefetch(OpBuilder &b, Location loc, Value source,
                  ArrayRef<OpFoldResult> at, unsigned dim, RowRange range,
                  bool isWrite = false);

/// Prefetches rows in the blocks of a loop over keys, some in each, before
/// different steps of a block: a processor has few requests under way, and all
/// at once they would wait for each other.
class SpreadPrefetch {
public:
  explicit SpreadPrefetch(OnlineSoftmaxOp softmax);

  /// Whether the loop comes after `value`.
  bool isAfter(Value value) const {
    return DominanceInfo().properlyDominates(value, keys);
  }

  /// As `emitPrefetch`, of at most `count` rows.
  void emit(OpBuilder &b, Value source, ArrayRef<OpFoldResult> at, unsigned dim,
            RowRange range, Value count);

  /// What `range`, the keys that a tile sees or packs of them, does not have
  /// but those of later tiles will. A window moves on by the `queries` of a
  /// tile. Where a range stays for some tiles and then jumps, as between
  /// documents, each of these fetches others of the next keys: as far away as
  /// the tile's queries still are from where the range ends.
  void emitBeyond(OpBuilder &b, memref::SubViewOp range, bool isBackward,
                  int64_t queries);

  /// In the body of `loop`, before what the loop is in.
  void setInsertionPointBefore(OpBuilder &b, scf::ForallOp loop) {
    b.setInsertionPoint(loop.getBody()->findAncestorOpInBlock(*keys));
  }

  /// Whether blocks are cut from `view`, through other views.
  bool reads(memref::SubViewOp view);

  /// After all blocks of a tile in the body of `loop`.
  void setInsertionPointAfter(OpBuilder &b, scf::ForallOp loop) {
    b.setInsertionPointAfter(loop.getBody()->findAncestorOpInBlock(*keys));
  }

  /// The ranges of keys that blocks are cut from.
  SmallVector<memref::SubViewOp> findRanges();

private:
  scf::ForOp keys;
  OnlineSoftmaxOp softmax;
  Location loc;
  Operation *front; ///< Of a block.
  SmallVector<Operation *, 4> places;
  bool isShared = false; ///< Each tensor has all places, not one of them.
  Operation *skipped = nullptr; ///< The end of what skips a block.
  unsigned numEmitted = 0;
};

} // namespace mlir::attn

#endif // ATTN_MEMORY_SPREADPREFETCH_H

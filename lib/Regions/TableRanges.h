//===- TableRanges.h - What loads of a region can yield ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Captured tensors of integers, as document ids or boolean masks, over a tile
// of queries and keys: which elements a region loads there, and the range of
// their values. It is found by looking at a few numbers: elements, where one of
// them serves many positions, as that of a table with an entry for each 128
// keys, or else those of an attn.block_range of the table, or that an
// attn.with_block_range gives it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_TABLERANGES_H
#define ATTN_REGIONS_TABLERANGES_H

#include "dialect/AttnOps.h"
#include "lib/Regions/IndexMovement.h"
#include "lib/Regions/IntegerInterval.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::attn {

/// A load of one element.
struct TableLoad {
  Value table;
  ValueRange indices;

  /// None if `op` is no load.
  static std::optional<TableLoad> match(Operation *op);
};

/// A tile of this many positions of queries and keys.
struct TileShape {
  int64_t queries, keys;
};

/// The sizes of blocks of a table, one for each dimension, such that a load in
/// a region sees few of them in a tile: 1 where the index moves slowly or
/// is one number. None if the index is no simple function of the positions.
std::optional<SmallVector<int64_t>>
findBlockSizes(const IndexMovements &movements, const TableLoad &load,
               TileShape tile);

/// The sizes of blocks of captured tensors, each the smallest that a load asks
/// for.
using BlockSizes = llvm::MapVector<Value, SmallVector<int64_t>>;

/// Adds the sizes for a region of `op`, an attn.attention or a derivative of
/// one, to `tables`: of a mask for all that it loads, of a score for what says
/// where it loads. Calls `refuse` with the loads that have none.
template <typename Op>
void addBlockSizes(Op op, Region &region, TileShape tile, BlockSizes &tables,
                   function_ref<void(Operation *)> refuse);

/// Emits the ranges of blocks of these sizes of a tensor, unless its elements
/// are as few.
void emitBlockRange(OpBuilder &builder, Value table, ArrayRef<int64_t> sizes);

/// Whether the range of a load depends on which keys are looked at together, as
/// far as is known of its table at the insertion point.
bool hasBlocksOfKeys(OpBuilder &builder, Region &mask, ValueRange captures);

/// The smallest and the largest element that is loaded, as values of the
/// element type.
struct TableRange {
  Value low, high;
  /// Of floats: whether one of them is a NaN, which is in neither.
  Value hasNaN = {};
  /// False if they may be any. Both are safe to use even so.
  SymbolicFlag isKnown = false;
};

/// Emits the range of what `load` yields for indices in the intervals, those
/// outside the table aside. `table` is what the loaded one stands for. None if
/// nothing is known of it, or it is one element.
std::optional<TableRange> emitTableRange(SymbolicArithmetic &numbers,
                                         const IndexMovements &movements,
                                         const TableLoad &load, Value table,
                                         ArrayRef<IntegerInterval> indices);

} // namespace mlir::attn

#endif // ATTN_REGIONS_TABLERANGES_H

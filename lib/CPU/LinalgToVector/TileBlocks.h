//===- TileBlocks.h - Blocks of a product in AMX tiles ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_TILEBLOCKS_H
#define ATTN_CPU_LINALGTOVECTOR_TILEBLOCKS_H

#include "lib/CPU/LinalgToVector/ContractionLoops.h"

namespace mlir::attn {

/// Emits blocks of a contraction in pairs of bf16 that are kept in AMX's tile
/// registers: C in tiles of 16 rows by 16 columns, 16 pairs at a step.
class TileBlocks {
public:
  /// Rows and columns of a tile, and pairs in its rows.
  static constexpr int64_t kSize = 16;

  TileBlocks(IndexBuilder &b, const Contraction &contraction,
             const PrefetchShares &shares);

  /// Computes the block of C at `row` and `column` of `rowTiles` by
  /// `columnTiles` tiles. At most 2 by 2: with
  /// as many of A and of B, the 8 registers that there are.
  void emit(Value row, Value column, int64_t rowTiles, int64_t columnTiles);

private:
  /// The number of the block that a row or column is in.
  Value getBlock(Value index);
  /// Of the contracted dimension of a number.
  Value getNumSteps(unsigned depth);
  /// Fetches the share of a step at `k`, of as many as the product has.
  void emitShare(Value row, Value column, ValueRange k);
  Value load(TypedValue<MemRefType> from, ValueRange indices);
  /// The same of a tile of pairs that is not read again soon: the load leaves
  /// what the first-level cache has there.
  Value loadOnce(TypedValue<MemRefType> from, ValueRange indices);
  SmallVector<Value> emitStart(ValueRange rows, ValueRange columns);
  /// acc[m,n] += A[m,k...] * B[k...,n] for all k, of which `outer` are fixed.
  void emitSteps(ValueRange rows, ValueRange columns, ValueRange outer,
                 SmallVector<Value> &acc);
  /// The same for the pairs of one tile.
  void emitStep(ValueRange rows, ValueRange columns, ValueRange k,
                SmallVector<Value> &acc);

  IndexBuilder &b;
  const Contraction &contraction;
  PrefetchShares shares;
};

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_TILEBLOCKS_H

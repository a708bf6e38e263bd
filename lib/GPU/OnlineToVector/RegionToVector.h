//===- RegionToVector.h - Regions as vector code of a tile ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_ONLINETOVECTOR_REGIONTOVECTOR_H
#define ATTN_GPU_ONLINETOVECTOR_REGIONTOVECTOR_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// A scalar, or a vector of which a dimension has size 1, as a vector of
/// `shape`. A vector of rank 1 has one element for each row of a matrix.
Value broadcastTo(ImplicitLocOpBuilder &b, Value value,
                  ArrayRef<int64_t> shape);

/// Inlines a block of elementwise operations for vectors in place of its
/// arguments, each of the smallest shape that its operands need. What scalars
/// alone decide stays scalar. Returns what the terminator yields. Emits an
/// error for an operation that is not elementwise.
FailureOr<Value> vectorizeBody(ImplicitLocOpBuilder &b, Block &body,
                               ValueRange arguments);

/// Where a score or mask region is evaluated: `rows` positions of queries and
/// `keys` keys, of which the first ones exist.
struct PositionTile {
  Value batch, head;
  Value position; ///< `p` of row 0.
  Value firstKey; ///< `j` of column 0.
  int64_t rows, keys;
};

/// The positions of rows, a vector (rows, 1), and the numbers of keys, a vector
/// (1, keys).
Value emitPositions(ImplicitLocOpBuilder &builder, const PositionTile &tile);
Value emitKeys(ImplicitLocOpBuilder &builder, const PositionTile &tile);

/// Whether `vectorizeRegion` has a form for a region: its operations on
/// positions are elementwise and trap for no number, and its loads from tensors
/// have indices that are `p`, `j` or neither, plus a scalar, or only a last
/// index that varies.
bool isVectorizable(Region &region, bool isScore);

/// Inlines a region for a tile where it is defined (A12). Positions are a
/// column, keys a row; `score`, a vector of both, is null for a mask region.
FailureOr<Value> vectorizeRegion(ImplicitLocOpBuilder &b, Region &region,
                                 const PositionTile &tile, Value score,
                                 ValueRange captures);

} // namespace mlir::attn

#endif // ATTN_GPU_ONLINETOVECTOR_REGIONTOVECTOR_H

//===- RowPrefetch.h - What a contraction fetches ahead ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_ROWPREFETCH_H
#define ATTN_CPU_LINALGTOVECTOR_ROWPREFETCH_H

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::attn {

/// What is fetched from memory while a contraction computes: of a matrix, the
/// rows that it reads of its own.
struct RowPrefetch {
  /// (rows, columns), or (rows, columns, 2) of pairs. Null: nothing is fetched.
  TypedValue<MemRefType> matrix;
  Value own;           ///< The operand that has those rows.
  int64_t numRows = 0; ///< Of the matrix, at most.
  /// Its own rows, in the same form, if nothing else comes from memory while it
  /// reads them; or null.
  TypedValue<MemRefType> block{};
  int64_t rowsAhead = 0; ///< By how many rows more it is fetched ahead.

  /// Fetches the line of an element.
  void emit(OpBuilder &b, Location loc, Value row, Value column) const;
  /// Fetches as many elements as `numColumns` columns from `column` on of
  /// `numRows` rows have. Where this is called for all columns of the rows, all
  /// their lines are fetched, one after the other.
  void emitShare(OpBuilder &b, Location loc, Value row, int64_t numRows,
                 Value column, int64_t numColumns) const;
  /// Fetches the lines of columns [first, first + numColumns) of the matrix in
  /// rows from `row` on.
  void emitRows(OpBuilder &b, Location loc, Value row, int64_t numRows,
                Value first, int64_t numColumns) const;
};

/// Whether `op` is the product of two matrices.
bool multipliesMatrices(linalg::LinalgOp op);

/// What each of some contractions, in their order, should fetch. In a loop over
/// blocks of keys, products of queries and keys alternate with products of
/// weights and values. Where no other iteration of a parallel loop reads the
/// same, both come from memory, so that each fetches what the other will read:
/// the values of the block, and the keys of the next, of which the view is
/// emitted. A contraction that is alone in such a loop fetches its own next
/// block, as of the weight of a projection.
llvm::DenseMap<Operation *, RowPrefetch>
emitRowPrefetches(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_ROWPREFETCH_H

//===- RowPrefetch.h - What a contraction fetches ahead ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_LINALGTOVECTOR_ROWPREFETCH_H
#define ATTN_CONVERSION_LINALGTOVECTOR_ROWPREFETCH_H

#include "lib/Conversion/LinalgToVector/RegisterBlocking.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::attn {

/// What is fetched from memory while a contraction computes with a row: the
/// same row of a matrix.
struct RowPrefetch {
  TypedValue<MemRefType> matrix; ///< Null: nothing is fetched.

  /// Fetches the line of an element.
  void emit(OpBuilder &b, Location loc, Value row, Value column) const;
};

/// What each of some contractions, in their order, should fetch. In decoding,
/// the dots of queries with a block of keys alternate with the products of
/// weights and values. Both read what comes from memory and is used once, so
/// that each fetches what the other will read: the values of the block, and the
/// keys of the next, of which the view is emitted.
llvm::DenseMap<Operation *, RowPrefetch>
emitRowPrefetches(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions,
                  const VectorRegisters &registers);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_LINALGTOVECTOR_ROWPREFETCH_H

//===- ScorePass.h - Scores of a softmax step as vector code ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_SCOREPASS_H
#define ATTN_CPU_ATTNTOVECTOR_SCOREPASS_H

#include "lib/CPU/AttnToVector/RegionVectorization.h"
#include "lib/CPU/AttnToVector/SoftmaxRows.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// The pass over the rows that stores scores, hidden ones as -inf, in the place
/// of products.
class ScorePass : protected SoftmaxRows {
protected:
  ScorePass(OnlineSoftmaxOp op, TargetAttr target);

  /// Makes scores of the products, and returns the new maximum.
  Pieces buildScores(const Pieces &maximum);

private:
  Pieces inlineThen(scf::IfOp ifOp);
  bool isVectorizable();
  /// Whether positions are so small that their vectors can have elements of
  /// i32.
  Value buildGuard();
  /// The maximum alone. Rows up to the padding hold -inf.
  Pieces buildMaximum(const Pieces &maximum);
  Pieces buildUnmasked(const Pieces &maximum);
  Pieces buildVectorScores(const Pieces &maximum);
  Pieces buildPass(const Pieces &maximum, bool masked);
  /// Where regions divide keys by a number, what they make of the quotient is
  /// built once if it is the same in all rows, as in most blocks.
  Pieces buildRowsByQuotients(const Pieces &maximum, bool masked);
  Pieces buildRows(const Pieces &maximum, bool masked, bool sameQuotients);
  /// Rows that are built together: `first`, `first + stride` and so on.
  struct RowGroup {
    int64_t count, stride = 1;
  };
  /// Builds groups that begin with the rows from `lower` to `upper`, stores the
  /// rows of each when all are built, and returns the new maximum. Groups of a
  /// stride other than 1 begin with every row.
  Pieces storeRows(Value lower, Value upper, RowGroup group,
                   const Pieces &maximum, function_ref<Pieces(TileRow)> build);
  /// A power of two of rows, a piece's lanes apart, that are built together
  /// where they share pieces.
  int64_t getRowsApart();
  void buildScalarScores();

  /// The op with what scalar code needs to name positions.
  OwningOpRef<OnlineSoftmaxOp> whole;
};

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_SCOREPASS_H

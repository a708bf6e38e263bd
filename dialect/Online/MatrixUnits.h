//===- MatrixUnits.h - Online attention for matrix units --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ONLINE_MATRIXUNITS_H
#define ATTN_DIALECT_ONLINE_MATRIXUNITS_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Whether what `op` multiplies is narrower than its state, in rows: matrix
/// units multiply f16 and bf16, and sum in f32. A query that a conversion has
/// made a vector counts, too.
inline bool isForMatrixUnits(OnlineAttentionOp op) {
  return op.getInRows() &&
         cast<ShapedType>(op.getQueryMutable().get().getType())
                 .getElementType() !=
             cast<ShapedType>(op.getAccumulator().getType()).getElementType();
}

} // namespace mlir::attn

#endif // ATTN_DIALECT_ONLINE_MATRIXUNITS_H

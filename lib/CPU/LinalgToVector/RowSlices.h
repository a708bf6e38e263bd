//===- RowSlices.h - Parts of rows of linalg operations ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_ROWSLICES_H
#define ATTN_CPU_LINALGTOVECTOR_ROWSLICES_H

#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::attn {

/// Whether the last dimension is known to be contiguous.
bool isContiguousAlongRows(MemRefType type);

/// Whether elements lie in memory as a vector of them does: not those that are
/// smaller than a byte, nor floats that the conversions to LLVM do not know.
bool hasVectorLayout(Type elementType);

/// Why `op`'s body cannot be computed for vectors; empty if it can.
StringRef whyNoVectorBody(linalg::LinalgOp op);

/// Why `loadSlice` cannot load an operand; empty if it can.
StringRef whyNoRow(OpOperand &operand);

/// Why `op` cannot be computed for a vector along its last loop dimension at a
/// time; empty if it can.
StringRef whyNoRowSlices(linalg::LinalgOp op);

/// The bits of the widest element of `op`'s operands.
unsigned getWidestElementBits(linalg::LinalgOp op);

/// Emits loops over all but the last dimension of `op`, moves into the
/// innermost one, and gives their indices; `sizes` becomes those of all
/// dimensions.
SmallVector<Value> emitOuterLoops(IndexBuilder &b, linalg::LinalgOp op,
                                  SmallVector<Value> &sizes);

/// The place in an operand at the indices `loops`.
SmallVector<Value> getSliceIndices(OpBuilder &b, OpOperand &operand,
                                   ValueRange loops);

/// Loads `lanes` elements of an operand of `op` from the indices `loops` on,
/// along the last loop dimension. An operand that does not depend on it, or is
/// a scalar, gives a scalar.
Value loadSlice(OpBuilder &b, OpOperand &operand, ValueRange loops,
                int64_t lanes);

/// What `op`'s body yields for `lanes` elements from the indices `loops` on,
/// given a vector or scalar for each operand.
SmallVector<Value> computeSlice(OpBuilder &b, linalg::LinalgOp op,
                                ValueRange loops, int64_t lanes,
                                ValueRange operands);

/// The same with operands loaded.
SmallVector<Value> computeSlice(OpBuilder &b, linalg::LinalgOp op,
                                ValueRange loops, int64_t lanes);

/// Stores a vector into an output of `op` where `loadSlice` would load it from.
void storeSlice(OpBuilder &b, Value vector, OpOperand &output,
                ValueRange loops);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_ROWSLICES_H

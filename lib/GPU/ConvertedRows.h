//===- ConvertedRows.h - Rows that are stored in another type ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_CONVERTEDROWS_H
#define ATTN_GPU_CONVERTEDROWS_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Stored elements, a vector, as numbers of the float type `type`. Those of i8
/// are multiplied by `scales` first: a number of f32, or a vector (rows) of
/// them, which is null for floats.
Value emitConvertedRows(ImplicitLocOpBuilder &builder, Value elements,
                        Value scales, Type type);

/// A read of rows, with what `emitConvertedRows` has made of it.
struct ConvertedRows {
  explicit ConvertedRows(vector::TransferReadOp read);

  VectorType getType() const { return cast<VectorType>(rows.getType()); }
  /// Makes `other` what the rows are, and erases what they came from.
  void replaceWith(Value other);

  vector::TransferReadOp read;
  Value rows;   ///< The result of the read, or what that is converted to.
  Value scales; ///< In memory, one for each row; null for floats.
};

} // namespace mlir::attn

#endif // ATTN_GPU_CONVERTEDROWS_H

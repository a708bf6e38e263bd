//===- CreateGeneric.h - Operations on elements of tensors ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_CREATEGENERIC_H
#define ATTN_DIALECT_SHARED_CREATEGENERIC_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// What an element of a result becomes: from those of the inputs and, last,
/// what it was. Emitted by the builder of the operation.
using ElementBody = function_ref<Value(ValueRange)>;

/// A linalg.generic that writes `init`. Maps are those of the inputs and of
/// `init`; loops that the last one leaves out are reductions.
Value createGeneric(OpBuilder &b, Location loc, ValueRange inputs, Value init,
                    ArrayRef<AffineMap> maps, ElementBody body);

/// The same with the operands' indices instead of maps.
Value createGeneric(OpBuilder &b, Location loc, ValueRange inputs, Value init,
                    ArrayRef<ArrayRef<AffineExpr>> indices, ElementBody body);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_CREATEGENERIC_H

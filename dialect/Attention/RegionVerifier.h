//===- RegionVerifier.h - Verification of pointwise regions ------*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_REGIONVERIFIER_H
#define ATTN_DIALECT_ATTENTION_REGIONVERIFIER_H

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::attn {

/// Element types of tensors that ops read: what the host API can pass.
bool isSupportedScalar(Type type);

/// A ranked tensor without encoding, or a memref; null for other types.
ShapedType getPlainShapedType(Type type);

/// Verifies that what names a position has its 4 indices, or none.
LogicalResult verifyPosition(Operation *op, ValueRange position);

/// Verifies a score or mask region of `op`: its arguments are `leading` and the
/// captures, its ops are those of A11, and it yields one `yielded`.
LogicalResult verifyPointwiseRegion(Operation *op, Region &region,
                                    StringRef name, ArrayRef<Type> leading,
                                    OperandRange captures, Type yielded);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_REGIONVERIFIER_H

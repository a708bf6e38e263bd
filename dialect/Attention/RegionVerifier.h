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

/// Verifies the regions of `op` (A10, A11). Scores are of type `type`.
LogicalResult verifyScoreAndMask(Operation *op, Region &score,
                                 OperandRange scoreCaptures, Region &mask,
                                 OperandRange maskCaptures, Type type);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_REGIONVERIFIER_H

//===- OperandVerifier.h - Verification of shaped operands ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_OPERANDVERIFIER_H
#define ATTN_DIALECT_SHARED_OPERANDVERIFIER_H

#include "dialect/Shared/SizeConstraint.h"

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::attn {

/// Verifies the sizes of the segments of operands that are one operand, which
/// the generic form can say otherwise. Other segments have no name here.
LogicalResult verifySegments(Operation *op, ArrayRef<int32_t> sizes,
                             ArrayRef<StringRef> names);

/// Verifies that operands are not tensors and memrefs.
LogicalResult verifyOneKind(Operation *op);

/// Verifies one operand's kind and rank, which is the number of names in
/// `dims`, and its element type unless that is null.
LogicalResult verifyShaped(Operation *op, Value operand, StringRef name,
                           ArrayRef<StringRef> dims, Type elementType);

/// Whether a type is f64, f32, f16 or bf16.
bool isComputedFloat(Type type);

/// Verifies that elements are f64, f32, f16 or bf16.
LogicalResult verifyFloat(Operation *op, Value operand, StringRef name);

/// Verifies that a size is static and at least 1.
LogicalResult verifyStaticSize(Operation *op, ShapedType type, StringRef name,
                               int64_t dimension, StringRef meaning);

/// The largest head size. Kernels keep whole rows of a head in tiles that are
/// unrolled, so that time and memory of compilation grow with it; the largest
/// in use are a few hundred.
inline constexpr int64_t maxHeadSize = 4096;

/// Verifies that a head size is static, and from 1 to the largest.
LogicalResult verifyHeadSize(Operation *op, ShapedType type, StringRef name);

/// Verifies a `(B, H, S, D)` operand of floats, with static heads and head
/// size.
LogicalResult verifyHeadRows(Operation *op, Value operand, StringRef name,
                             Type elementType);

/// All sizes of a `(B, H, S, D)` operand are those of `reference`, or the first
/// three for a log-sum-exp.
void addSameSizes(OperandSize operand, OperandSize reference,
                  SmallVectorImpl<SizeConstraint> &constraints);

/// Verifies the constraints whose sizes are static.
LogicalResult verifySizes(Operation *op, ArrayRef<SizeConstraint> constraints);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_OPERANDVERIFIER_H

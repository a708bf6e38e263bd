//===- OperandGroups.h - Operands that ops have in common -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer has the operands of the ops that it decomposes to. It verifies them
// by the functions of those ops, so that they accept what it accepts. Each
// function is defined beside its op; `name` is what messages call an operand,
// and `rows` the element type of what is computed with it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_OPERANDGROUPS_H
#define ATTN_DIALECT_SHARED_OPERANDGROUPS_H

#include "dialect/Shared/SizeConstraint.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::attn {

//===----------------------------------------------------------------------===//
// attn.projection
//===----------------------------------------------------------------------===//

/// A weight with its scales and its bias, which are null when absent.
struct ProjectionMap {
  Value weight, scales, bias;
  StringRef weightName, scalesName, biasName;
};

/// Types and ranks, for `features` of the input (P3 to P5).
LogicalResult verifyProjectionMap(Operation *op, const ProjectionMap &map,
                                  FloatType rows, int64_t features);

/// The sizes of a map from `features` to `columns` (P2, P3, P5).
void addMapConstraints(const ProjectionMap &map, int64_t features,
                       int64_t columns,
                       SmallVectorImpl<SizeConstraint> &constraints);

//===----------------------------------------------------------------------===//
// attn.head_norm and attn.dropout
//===----------------------------------------------------------------------===//

/// Rank and type of a weight (N2).
LogicalResult verifyNormWeight(Operation *op, Value weight, StringRef name,
                               FloatType rows);

/// `epsilon` and `layer`, which may be null (N3, N4).
LogicalResult verifyNormNumbers(Operation *op, FloatAttr epsilon,
                                IntegerAttr layer, FloatType rows);

/// D2, A8
LogicalResult verifyDropoutRate(Operation *op, FloatAttr rate, StringRef name);

//===----------------------------------------------------------------------===//
// attn.rope
//===----------------------------------------------------------------------===//

struct RopeTables {
  Value cosine, sine;
  StringRef cosineName, sineName;
};

/// Types of tables for heads of `headSize` elements (R1, R2).
LogicalResult verifyRopeTables(Operation *op, const RopeTables &tables,
                               FloatType rows, int64_t headSize);

void addTableConstraints(const RopeTables &tables,
                         SmallVectorImpl<SizeConstraint> &constraints);

/// An integer, or a vector of them, whose shape is called `shape` (R4, A5).
LogicalResult verifyOffset(Operation *op, Value offset, StringRef shape);

/// R4
LogicalResult verifyPositions(Operation *op, Value positions);

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// A cache with what says where its rows are; scales and table are null when
/// absent.
struct CacheOperands {
  Value cache, scales, lengths, table;
  bool isRing;
  StringRef cacheName, scalesName;
};

/// C1 to C4, and the lengths (C6, C10).
LogicalResult verifyCache(Operation *op, const CacheOperands &operands);

/// Whether rows of this element type may be stored or read (C5, C11).
LogicalResult verifyCacheRows(Operation *op, const CacheOperands &operands,
                              Type element, StringRef name);

/// A vector of integers, one for each sequence (C6, C10).
LogicalResult verifyPerSequence(Operation *op, Value operand, StringRef name);

/// The sizes of a cache, its scales and its table; sequences are counted by
/// `batch`.
void addCacheConstraints(const CacheOperands &operands, OperandSize batch,
                         SmallVectorImpl<SizeConstraint> &constraints);

//===----------------------------------------------------------------------===//
// attn.attention
//===----------------------------------------------------------------------===//

/// A constant that may be null (A4).
LogicalResult verifyStaticScale(Operation *op, FloatAttr scale, FloatType rows);

/// The element type of `operand` is a float no wider than that of sums (A6).
LogicalResult verifyNoWiderThanSums(Operation *op, Value operand,
                                    StringRef name, FloatType rows);

/// One of the two cumulative lengths of a packed batch (A7).
LogicalResult verifyCumulativeLengths(Operation *op, Value operand,
                                      StringRef name);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_OPERANDGROUPS_H

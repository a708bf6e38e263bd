//===- RegionDerivative.h - Derivatives of score regions --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A score region is pure, scalar and isolated (A11), so that its derivative is
// one walk over its operations in forward mode, and a region of the same kind
// that the same lowerings evaluate.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_REGIONDERIVATIVE_H
#define ATTN_REGIONS_REGIONDERIVATIVE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace mlir::attn {

class AttentionTangentOp;

/// Emits, behind an operation on scalars, how fast its results move: null where
/// they do not. `tangentOf` says how fast an operand does, which may be a
/// tensor that it loads from. An error if it has no derivative.
FailureOr<SmallVector<Value>>
emitScalarTangents(OpBuilder &builder, Operation *op,
                   function_ref<Value(Value)> tangentOf);

/// Fills `derivative` with a region of the arguments of `region` that yields
/// the derivative of what that yields with respect to `variable`: its argument,
/// or the result of one of its operations, which then stands for itself alone.
/// An error at an operation that has no derivative.
LogicalResult differentiateRegion(Region &region, Value variable,
                                  Region &derivative);

/// The same along some of its arguments, of floats or tensors of floats: behind
/// the arguments of `region`, `derivative` has one for how fast each moves.
LogicalResult differentiateAlong(Region &region, ArrayRef<unsigned> along,
                                 Region &derivative);

/// How a score moves: with its product, and along the tangents of its captures,
/// which are further arguments.
struct ScoreSlopes {
  Region ofProduct, ofCaptures;

  /// Of an op that has a score; an error where that has no derivative.
  LogicalResult prepare(AttentionTangentOp op);
};

/// Emits the derivative of what `body` yields first, for these values of its
/// arguments, with respect to one of them. An error as above.
FailureOr<Value> emitDerivative(OpBuilder &builder, Block &body,
                                ValueRange arguments, unsigned number);

/// Fills `copy` with a region that yields `value` of `region` in place of what
/// that yields.
void copyYielding(Region &region, Value value, Region &copy);

/// The constant that a region of floats yields everywhere; nothing if it does
/// not.
std::optional<double> getConstantYield(Region &region);

/// The loads of `argument`, a captured tensor; the argument itself if it is a
/// scalar: the variables that a gradient of it is summed over.
SmallVector<Value> findVariables(BlockArgument argument);

} // namespace mlir::attn

#endif // ATTN_REGIONS_REGIONDERIVATIVE_H

//===- ProjectionEpilogue.h - What follows a projection ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PROJECTION_PROJECTIONEPILOGUE_H
#define ATTN_PROJECTION_PROJECTIONEPILOGUE_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

/// An elementwise operation on a projection's result, as the sum of a residual
/// or what a gate is multiplied by, that is computed as the result is stored.
struct ProjectionEpilogue {
  linalg::GenericOp op;
  /// The operand that is the result of the projection.
  OpOperand *stored;
  /// Operands that are results of other projections of the same input and
  /// types, which are computed in the same tiles and never stored as a whole.
  SmallVector<OpOperand *, 1> others;

  /// The epilogue of which `projection` is the last projection, if nothing else
  /// needs its result, and each element is computed from the same element and
  /// other tensors by operations that have a form for vectors.
  static std::optional<ProjectionEpilogue> find(ProjectionOp projection);

  ProjectionOp getProjection(OpOperand *operand) const {
    return operand->get().getDefiningOp<ProjectionOp>();
  }
  /// Moves the projections to right before the operation.
  void moveProjections(RewriterBase &rewriter) const;
};

} // namespace mlir::attn

#endif // ATTN_PROJECTION_PROJECTIONEPILOGUE_H

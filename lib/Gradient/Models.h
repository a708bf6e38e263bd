//===- Models.h - Differentiable, of operations of dialects -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_MODELS_H
#define ATTN_GRADIENT_MODELS_H

#include "dialect/AttnOps.h"
#include "lib/Gradient/Differentiable.h"
#include "lib/Gradient/GradientBuilder.h"

namespace mlir::attn {

/// What emits the derivatives of one kind of operation.
template <typename Op>
using EmitGradients = LogicalResult (*)(GradientBuilder &, Op, OpGradients &);
template <typename Op>
using EmitTangents = LogicalResult (*)(GradientBuilder &, Op, OpTangents &);

/// Attaches `Differentiable` to an operation of which functions emit gradients
/// and tangents; null where it has none.
template <typename Op, EmitGradients<Op> gradients, EmitTangents<Op> tangents>
void attachModel(MLIRContext *context) {
  struct Model : Differentiable::ExternalModel<Model, Op> {
    LogicalResult emitGradients(Operation *op, OpBuilder &builder,
                                OpGradients &of) const {
      if constexpr (gradients == nullptr) {
        return refuseGradient(op);
      } else {
        GradientBuilder b(op->getLoc(), builder);
        return gradients(b, cast<Op>(op), of);
      }
    }
    LogicalResult emitTangents(Operation *op, OpBuilder &builder,
                               OpTangents &of) const {
      GradientBuilder b(op->getLoc(), builder);
      return tangents(b, cast<Op>(op), of);
    }
  };
  Op::template attachInterface<Model>(*context);
}

/// The tangent of the one result of an operation that is linear in these
/// operands: the same operation of their tangents, and of all others as they
/// are.
LogicalResult emitLinear(GradientBuilder &b, Operation *op,
                         ArrayRef<unsigned> operands, OpTangents &tangents);

/// An operation of one operand that is linear in it, the first.
template <typename Op>
LogicalResult emitLinear(GradientBuilder &b, Op op, OpTangents &tangents) {
  return emitLinear(b, op.getOperation(), {0}, tangents);
}

LogicalResult emitMultiTokenGradients(GradientBuilder &b,
                                      MultiTokenAttentionOp op,
                                      OpGradients &gradients);

void attachAttentionModels(MLIRContext *context);
void attachCodeModels(MLIRContext *context);
void attachLayerModels(MLIRContext *context);
void attachProjectionModels(MLIRContext *context);
void attachTensorModels(MLIRContext *context);

} // namespace mlir::attn

#endif // ATTN_GRADIENT_MODELS_H

//===- Models.h - Differentiable, of operations of dialects -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_MODELS_H
#define ATTN_GRADIENT_MODELS_H

#include "lib/Gradient/Differentiable.h"
#include "lib/Gradient/GradientBuilder.h"

namespace mlir::attn {

/// What emits gradients of one kind of operation.
template <typename Op>
using EmitGradients = LogicalResult (*)(GradientBuilder &, Op, OpGradients &);

/// Attaches `Differentiable` to an operation of which a function emits the
/// gradients.
template <typename Op, EmitGradients<Op> gradients>
void attachModel(MLIRContext *context) {
  struct Model : Differentiable::ExternalModel<Model, Op> {
    LogicalResult emitGradients(Operation *op, OpBuilder &builder,
                                OpGradients &of) const {
      GradientBuilder b(op->getLoc(), builder);
      return gradients(b, cast<Op>(op), of);
    }
  };
  Op::template attachInterface<Model>(*context);
}

void attachAttentionModels(MLIRContext *context);
void attachLayerModels(MLIRContext *context);
void attachProjectionModels(MLIRContext *context);
void attachTensorModels(MLIRContext *context);

} // namespace mlir::attn

#endif // ATTN_GRADIENT_MODELS_H

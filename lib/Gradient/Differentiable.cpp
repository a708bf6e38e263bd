//===- Differentiable.cpp - What has derivatives --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/Differentiable.h"
#include "dialect/AttnDialect.h"
#include "lib/Gradient/GradientBuilder.h"
#include "lib/Gradient/Models.h"

using namespace mlir;
using namespace mlir::attn;

#include "lib/Gradient/Differentiable.cpp.inc"

static LogicalResult refuse(Operation *op, StringRef what, const Twine &why) {
  InFlightDiagnostic error = op->emitError("'")
                             << op->getName() << "' has no " << what;
  if (!why.isTriviallyEmpty())
    error << ": " << why;
  return error;
}

LogicalResult attn::refuseGradient(Operation *op, const Twine &why) {
  return refuse(op, "gradient", why);
}

LogicalResult attn::refuseTangent(Operation *op, const Twine &why) {
  return refuse(op, "tangent", why);
}

Value attn::emitZerosLike(OpBuilder &builder, Location loc, Value like) {
  GradientBuilder b(loc, builder);
  if (auto type = dyn_cast<FloatType>(like.getType()))
    return b.real(type, 0.0);
  return b.fill(b.emptyLike(like), 0.0);
}

Value OpTangents::getOrZeros(OpBuilder &builder, Value value) const {
  Value tangent = get(value);
  return tangent ? tangent : emitZerosLike(builder, value.getLoc(), value);
}

void attn::registerDifferentiableModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *,
                            linalg::LinalgDialect *, scf::SCFDialect *,
                            tensor::TensorDialect *) {
    attachAttentionModels(context);
    attachCodeModels(context);
    attachLayerModels(context);
    attachProjectionModels(context);
    attachTensorModels(context);
  });
}

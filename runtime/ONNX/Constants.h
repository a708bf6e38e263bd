//===- Constants.h - Tensors that a model holds -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_CONSTANTS_H
#define ATTN_RUNTIME_ONNX_CONSTANTS_H

#include "runtime/ONNX/Model.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn::onnx {

/// A tensor of the model as a constant; `what` is its name in messages.
mlir::FailureOr<mlir::Value> createConstant(mlir::ImplicitLocOpBuilder &b,
                                            const Tensor &tensor,
                                            const std::string &what);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_CONSTANTS_H

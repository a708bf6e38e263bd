//===- Constants.cpp - Tensors that a model holds -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/Constants.h"
#include "runtime/ONNX/NodeImport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

using namespace attn;
using namespace attn::onnx;

/// As much as kernels take.
static constexpr std::size_t maxBytes = std::size_t(64) << 20;

FailureOr<Value> attn::onnx::createConstant(mlir::ImplicitLocOpBuilder &b,
                                            const Tensor &tensor,
                                            const std::string &what) {
  Type element = convertElementType(b.getContext(), tensor.elementType);
  if (!element)
    return mlir::emitError(b.getLoc())
           << what << ": elements of " << formatDataType(tensor.elementType)
           << " are not imported";
  if (tensor.data.size() > maxBytes)
    return mlir::emitError(b.getLoc())
           << what << " has " << tensor.data.size()
           << " bytes; constants may have up to " << maxBytes
           << ": make it an input of the graph";
  auto type = RankedTensorType::get(tensor.shape, element);
  mlir::DenseElementsAttr elements;
  if (element.isInteger(1)) {
    SmallVector<bool> bits(tensor.data.begin(), tensor.data.end());
    elements = mlir::DenseElementsAttr::get(type, bits);
  } else {
    elements = mlir::DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef(tensor.data.data(), tensor.data.size()));
  }
  return mlir::arith::ConstantOp::create(b, elements).getResult();
}

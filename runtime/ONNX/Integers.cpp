//===- Integers.cpp - Sizes that graphs compute with ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/Integers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace attn;
using namespace attn::onnx;

/// What a shape may have; more are no sizes.
static constexpr std::int64_t maxElements = 64;

std::optional<Sizes> attn::onnx::findIntegers(Value tensor) {
  auto type = llvm::dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.getRank() > 1 || !type.hasStaticShape() ||
      type.getNumElements() > maxElements ||
      !type.getElementType().isInteger() || type.getElementType().isInteger(1))
    return std::nullopt;
  mlir::Builder b(tensor.getContext());
  Sizes result;
  mlir::DenseIntElementsAttr constant;
  if (mlir::matchPattern(tensor, mlir::m_Constant(&constant))) {
    for (const llvm::APInt &element : constant.getValues<llvm::APInt>())
      result.push_back(b.getIndexAttr(element.getSExtValue()));
    return result;
  }
  auto elements = tensor.getDefiningOp<mlir::tensor::FromElementsOp>();
  if (!elements)
    return std::nullopt;
  for (Value element : elements.getElements()) {
    auto cast = element.getDefiningOp<mlir::arith::IndexCastOp>();
    if (!cast || !cast.getIn().getType().isIndex())
      return std::nullopt;
    result.push_back(mlir::getAsOpFoldResult(cast.getIn()));
  }
  return result;
}

std::optional<SmallVector<std::int64_t>>
attn::onnx::findConstantIntegers(Value tensor) {
  std::optional<Sizes> elements = findIntegers(tensor);
  if (!elements)
    return std::nullopt;
  return mlir::getConstantIntValues(*elements);
}

Value attn::onnx::createIntegers(Builder &b, ArrayRef<OpFoldResult> elements,
                                 RankedTensorType type) {
  if (auto numbers = mlir::getConstantIntValues(elements)) {
    SmallVector<mlir::Attribute> attributes;
    for (std::int64_t number : *numbers)
      attributes.push_back(b.getIntegerAttr(type.getElementType(), number));
    return mlir::arith::ConstantOp::create(
        b, mlir::DenseElementsAttr::get(type, attributes));
  }
  SmallVector<Value> values;
  for (OpFoldResult element : elements)
    values.push_back(mlir::arith::IndexCastOp::create(b, type.getElementType(),
                                                      toIndex(b, element)));
  return mlir::tensor::FromElementsOp::create(b, type, values);
}

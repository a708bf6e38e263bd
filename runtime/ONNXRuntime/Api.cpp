//===- Api.cpp - ONNX Runtime's functions, with errors as exceptions ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Api.h"

#include "attn/tensor.h"

using namespace attn;
using namespace attn::ort;
using std::string;

void Api::check(abi::Status *status) const {
  if (!status)
    return;
  string message = call(table, abi::getErrorMessage, status);
  call(table, abi::releaseStatus, status);
  throw Failure(message);
}

std::optional<ElementType> ort::convertElementType(int type) {
  switch (type) {
  case abi::dataFloat:
    return ElementType::f32;
  case abi::dataInt8:
    return ElementType::i8;
  case abi::dataInt16:
    return ElementType::i16;
  case abi::dataInt32:
    return ElementType::i32;
  case abi::dataInt64:
    return ElementType::i64;
  case abi::dataBool:
    return ElementType::i1;
  case abi::dataFloat16:
    return ElementType::f16;
  case abi::dataDouble:
    return ElementType::f64;
  case abi::dataBfloat16:
    return ElementType::bf16;
  default:
    return std::nullopt;
  }
}

Shape ort::readShape(const Api &api, const abi::TensorInfo *info) {
  std::size_t rank = 0;
  api(abi::getDimensionsCount, info, &rank);
  Shape shape(rank);
  api(abi::getDimensions, info, shape.data(), rank);
  for (std::int64_t &size : shape)
    size = size < 0 ? dynamic : size;
  return shape;
}

string ort::describe(const Shape &shape) {
  string text = "(";
  for (std::int64_t size : shape) {
    text += text.size() > 1 ? ", " : "";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text + ")";
}

TensorValue ort::readTensor(const Api &api, const abi::Value *value) {
  if (!value)
    return {};
  TensorValue tensor;
  int type = abi::dataUndefined;
  const std::int64_t *sizes = nullptr;
  std::size_t rank = 0;
  api(abi::getTensorShape, value, &type, &sizes, &rank);
  tensor.exists = true;
  tensor.type = convertElementType(type);
  tensor.shape.assign(sizes, sizes + rank);
  api(abi::getTensorData, value, &tensor.data);
  return tensor;
}

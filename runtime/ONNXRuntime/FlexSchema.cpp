//===- FlexSchema.cpp - The operator FlexAttention for ONNX Runtime -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/FlexSchema.h"

#include <memory>

using namespace attn;
using namespace attn::ort;

/// The output has the sizes of the queries, and the last one of the values.
static void inferShape(const Api &api, abi::ShapeInferContext *context) {
  auto release = [&](abi::TensorInfo *info) {
    api(abi::releaseTensorInfo, info);
  };
  using Owner = std::unique_ptr<abi::TensorInfo, decltype(release)>;
  // Those of inputs are the context's.
  auto read = [&](std::size_t index, std::vector<const char *> &names) {
    abi::TensorInfo *info = nullptr;
    api(abi::getInputTypeShape, context, index, &info);
    Shape shape = readShape(api, info);
    names.resize(shape.size());
    api(abi::getSymbolicDimensions, info, names.data(), names.size());
    return shape;
  };
  std::vector<const char *> names, valueNames;
  Shape shape = read(0, names), value = read(2, valueNames);
  if (shape.size() != 4 || value.size() != 4)
    return;
  shape[3] = value[3];
  names[3] = valueNames[3];

  abi::TensorInfo *query = nullptr, *info = nullptr;
  api(abi::getInputTypeShape, context, 0, &query);
  int type = abi::dataUndefined;
  api(abi::getElementType, query, &type);
  api(abi::createTensorInfo, &info);
  Owner owner(info, release);
  api(abi::setElementType, info, type);
  api(abi::setDimensions, info, shape.data(), shape.size());
  api(abi::setSymbolicDimensions, info, names.data(), names.size());
  api(abi::setOutputTypeShape, context, 0, info);
}

FlexSchema::FlexSchema(const Api &api) : CustomOp(), api(api) {
  version = abi::version;
  getName = [](const CustomOp *) { return "FlexAttention"; };
  getExecutionProviderType = [](const CustomOp *) {
    return static_cast<const char *>(nullptr);
  };
  getInputTypeCount = [](const CustomOp *) { return std::size_t(3); };
  getOutputTypeCount = [](const CustomOp *) { return std::size_t(1); };
  getInputType = [](const CustomOp *, std::size_t) {
    return int(abi::dataUndefined);
  };
  getOutputType = getInputType;
  getInputCharacteristic = [](const CustomOp *, std::size_t) { return 0; };
  getOutputCharacteristic = getInputCharacteristic;
  getInputMemoryType = [](const CustomOp *, std::size_t) { return 0; };
  getVariadicInputMinArity = [](const CustomOp *) { return 0; };
  getVariadicInputHomogeneity = getVariadicInputMinArity;
  getVariadicOutputMinArity = getVariadicInputMinArity;
  getVariadicOutputHomogeneity = getVariadicInputMinArity;
  getStartVersion = [](const CustomOp *) { return 1; };
  getEndVersion = [](const CustomOp *) { return 1000; };
  createKernelV2 = [](const CustomOp *self, const abi::Table *,
                      const abi::KernelInfo *, void **) {
    return static_cast<const FlexSchema *>(self)->api.guard([] {
      throw Failure("AttnExecutionProvider does not run this FlexAttention; "
                    "its log says why");
    });
  };
  // Never called, because no kernel is created; without them, those of the
  // first version would be.
  kernelComputeV2 = [](void *, abi::KernelContext *) {
    return static_cast<abi::Status *>(nullptr);
  };
  kernelDestroy = [](void *) {};
  inferOutputShape = [](const CustomOp *self, abi::ShapeInferContext *context) {
    const Api &api = static_cast<const FlexSchema *>(self)->api;
    return api.guard([&] { inferShape(api, context); });
  };
  api(abi::createCustomOpDomain, "ai.onnx.preview", &preview);
  if (!api.succeeds(abi::customOpDomainAdd, preview, this)) {
    api(abi::releaseCustomOpDomain, preview);
    throw Failure("FlexAttention cannot be declared");
  }
}

FlexSchema::~FlexSchema() { api(abi::releaseCustomOpDomain, preview); }

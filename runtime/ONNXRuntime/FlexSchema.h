//===- FlexSchema.h - The operator FlexAttention for ONNX Runtime -*- C++ -*-=//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_FLEXSCHEMA_H
#define ATTN_RUNTIME_ONNXRUNTIME_FLEXSCHEMA_H

#include "runtime/ONNXRuntime/Api.h"

namespace attn::ort {

/// FlexAttention of the domain ai.onnx.preview, which ONNX Runtime does not
/// know: a graph with it is only loaded if somebody says what the node takes
/// and gives. It has no kernel here: nodes that the provider leaves to others
/// end in an error.
class FlexSchema : public abi::CustomOp {
public:
  explicit FlexSchema(const Api &api);
  ~FlexSchema();
  FlexSchema(const FlexSchema &) = delete;
  FlexSchema &operator=(const FlexSchema &) = delete;

  abi::CustomOpDomain *domain() const { return preview; }

private:
  const Api api;
  abi::CustomOpDomain *preview = nullptr;
};

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_FLEXSCHEMA_H

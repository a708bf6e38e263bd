//===- onnx.h - Models in the ONNX format -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a library of its own, libattn-onnx.so, which brings protobuf with it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONNX_H
#define ATTN_ONNX_H

#include "attn/error.h"
#include "attn/export.h"

#include <functional>
#include <string>
#include <string_view>

namespace attn {

struct OnnxOptions {
  /// The node to import alone, by its name; its inputs become arguments. Empty:
  /// the whole graph.
  std::string node;
  /// Where the model keeps data outside of its own file. Empty: a model that
  /// does is an error.
  std::string directory;
  /// For messages.
  std::string fileName = "<model>";
  /// Called with each remark once the model is imported: where what a node
  /// becomes is slower than one expects.
  std::function<void(const Diagnostic &)> onRemark = nullptr;
};

/// The text, for `Engine::compile`, of a function that computes what an ONNX
/// model does. `model` is the contents of its file. The function's arguments
/// are the graph's inputs but those with an initializer, its results the
/// graph's outputs, in order, with the same shapes; sizes that have no value in
/// the model are dynamic. docs/onnx.md says which operators are imported, and
/// how; what is not is an error that names its node and domain, and nothing is
/// imported by half.
ATTN_EXPORT Expected<std::string> importOnnx(std::string_view model,
                                             const OnnxOptions &options = {});

} // namespace attn

#endif // ATTN_ONNX_H

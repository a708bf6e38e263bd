//===- Graph.h - Nodes of ONNX Runtime's graphs -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_GRAPH_H
#define ATTN_RUNTIME_ONNXRUNTIME_GRAPH_H

#include "runtime/ONNXRuntime/Api.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::ort {

/// An input or output of a node or a graph.
struct GraphValue {
  const abi::ValueInfo *info = nullptr;
  std::string name; ///< Empty for an optional one that is absent.
  /// Nothing for what is no tensor, or of a type that no kernel takes.
  std::optional<ElementType> type;
  Shape shape; ///< Empty for a scalar, and where no rank is known.
  explicit operator bool() const { return !name.empty(); }
};

/// A node as its graph has it. What is read of it is only valid while ONNX
/// Runtime lends the graph.
class GraphNode {
public:
  GraphNode(const Api &api, const abi::Node *node);

  std::string name, domain, type;
  int sinceVersion = 0;
  std::vector<GraphValue> inputs, outputs;
  /// What graphs within the node take from around it.
  std::vector<GraphValue> captured;

  /// One that is absent if there are fewer.
  const GraphValue &input(std::size_t index) const {
    return get(inputs, index);
  }
  const GraphValue &output(std::size_t index) const {
    return get(outputs, index);
  }

  std::int64_t integer(const char *attribute, std::int64_t otherwise) const;
  float real(const char *attribute, float otherwise) const;
  std::string string(const char *attribute, const char *otherwise) const;
  bool has(const char *attribute) const;
  /// Declines a node that has attributes, or more inputs, than those that an
  /// operator knows: later versions of it may have more.
  void expectOnly(std::initializer_list<std::string_view> attributes,
                  std::size_t numInputs) const;
  /// The value of an attribute that is a graph; null if there is none.
  const abi::Graph *graph(const char *attribute) const;

private:
  static const GraphValue &get(const std::vector<GraphValue> &values,
                               std::size_t index) {
    static const GraphValue absent;
    return index < values.size() ? values[index] : absent;
  }
  const abi::Attribute *find(const char *attribute) const;

  Api api;
  const abi::Node *node;
};

GraphValue readValue(const Api &api, const abi::ValueInfo *info);
std::vector<const abi::Node *> readNodes(const Api &api,
                                         const abi::Graph *graph);
std::vector<GraphValue> readInputs(const Api &api, const abi::Graph *graph);
std::vector<GraphValue> readOutputs(const Api &api, const abi::Graph *graph);
std::vector<GraphValue> readInitializers(const Api &api,
                                         const abi::Graph *graph);
/// The value of a constant; null for what is none.
const abi::Value *readConstant(const Api &api, const GraphValue &value);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_GRAPH_H

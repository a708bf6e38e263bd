//===- Graph.cpp - Nodes of ONNX Runtime's graphs -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Graph.h"

#include <algorithm>

using namespace attn;
using namespace attn::ort;

GraphValue ort::readValue(const Api &api, const abi::ValueInfo *info) {
  GraphValue value;
  if (!info)
    return value;
  value.info = info;
  const char *name = nullptr;
  api(abi::getValueInfoName, info, &name);
  value.name = name;
  const abi::TypeInfo *type = nullptr;
  const abi::TensorInfo *tensor = nullptr;
  // What a graph does not say the type of ends in an error, too.
  if (value.name.empty() ||
      !api.succeeds(abi::getValueInfoTypeInfo, info, &type) || !type)
    return value;
  api(abi::castTypeInfoToTensorInfo, type, &tensor);
  if (!tensor)
    return value;
  int elementType = abi::dataUndefined;
  api(abi::getElementType, tensor, &elementType);
  value.type = convertElementType(elementType);
  value.shape = readShape(api, tensor);
  return value;
}

template <typename Count, typename Get, typename Owner>
static std::vector<GraphValue> readValues(const Api &api, Count count, Get get,
                                          const Owner *owner) {
  std::size_t number = 0;
  api(count, owner, &number);
  std::vector<const abi::ValueInfo *> infos(number);
  api(get, owner, infos.data(), number);
  std::vector<GraphValue> values;
  values.reserve(number);
  for (const abi::ValueInfo *info : infos)
    values.push_back(readValue(api, info));
  return values;
}

GraphNode::GraphNode(const Api &api, const abi::Node *node)
    : api(api), node(node) {
  const char *text = nullptr;
  api(abi::nodeGetName, node, &text);
  name = text;
  api(abi::nodeGetDomain, node, &text);
  domain = text;
  api(abi::nodeGetOperatorType, node, &text);
  type = text;
  api(abi::nodeGetSinceVersion, node, &sinceVersion);
  inputs = readValues(api, abi::nodeGetNumInputs, abi::nodeGetInputs, node);
  outputs = readValues(api, abi::nodeGetNumOutputs, abi::nodeGetOutputs, node);
  captured = readValues(api, abi::nodeGetNumImplicitInputs,
                        abi::nodeGetImplicitInputs, node);
}

const abi::Attribute *GraphNode::find(const char *attribute) const {
  const abi::Attribute *found = nullptr;
  return api.succeeds(abi::nodeGetAttributeByName, node, attribute, &found)
             ? found
             : nullptr;
}

bool GraphNode::has(const char *attribute) const {
  return find(attribute) || graph(attribute);
}

void GraphNode::expectOnly(std::initializer_list<std::string_view> attributes,
                           std::size_t numInputs) const {
  std::size_t number = 0;
  api(abi::nodeGetNumAttributes, node, &number);
  std::vector<const abi::Attribute *> given(number);
  api(abi::nodeGetAttributes, node, given.data(), number);
  for (const abi::Attribute *attribute : given) {
    const char *name = nullptr;
    api(abi::getAttributeName, attribute, &name);
    if (!std::ranges::count(attributes, std::string_view(name)))
      decline("its attribute '" + std::string(name) + "' is not known");
  }
  for (std::size_t index = numInputs; index < inputs.size(); ++index)
    if (inputs[index])
      decline("its input " + std::to_string(index) + " is used");
}

std::int64_t GraphNode::integer(const char *attribute,
                                std::int64_t otherwise) const {
  std::int64_t value = otherwise;
  std::size_t size = 0;
  if (const abi::Attribute *found = find(attribute))
    api(abi::readAttribute, found, abi::attributeInt, &value, sizeof(value),
        &size);
  return value;
}

float GraphNode::real(const char *attribute, float otherwise) const {
  float value = otherwise;
  std::size_t size = 0;
  if (const abi::Attribute *found = find(attribute))
    api(abi::readAttribute, found, abi::attributeFloat, &value, sizeof(value),
        &size);
  return value;
}

std::string GraphNode::string(const char *attribute,
                              const char *otherwise) const {
  const abi::Attribute *found = find(attribute);
  if (!found)
    return otherwise;
  // Says how long it is where there is no room.
  std::size_t size = 0;
  std::string value;
  api.succeeds(abi::readAttribute, found, abi::attributeString, value.data(), 0,
               &size);
  value.resize(size);
  api(abi::readAttribute, found, abi::attributeString, value.data(), size,
      &size);
  return value;
}

const abi::Graph *GraphNode::graph(const char *attribute) const {
  std::size_t number = 0;
  api(abi::nodeGetNumSubgraphs, node, &number);
  std::vector<const abi::Graph *> graphs(number);
  std::vector<const char *> names(number);
  api(abi::nodeGetSubgraphs, node, graphs.data(), number, names.data());
  for (std::size_t i = 0; i < number; ++i)
    if (std::string(names[i]) == attribute)
      return graphs[i];
  return nullptr;
}

std::vector<const abi::Node *> ort::readNodes(const Api &api,
                                              const abi::Graph *graph) {
  std::size_t number = 0;
  api(abi::graphGetNumNodes, graph, &number);
  std::vector<const abi::Node *> nodes(number);
  api(abi::graphGetNodes, graph, nodes.data(), number);
  return nodes;
}

std::vector<GraphValue> ort::readInputs(const Api &api,
                                        const abi::Graph *graph) {
  return readValues(api, abi::graphGetNumInputs, abi::graphGetInputs, graph);
}

std::vector<GraphValue> ort::readOutputs(const Api &api,
                                         const abi::Graph *graph) {
  return readValues(api, abi::graphGetNumOutputs, abi::graphGetOutputs, graph);
}

std::vector<GraphValue> ort::readInitializers(const Api &api,
                                              const abi::Graph *graph) {
  return readValues(api, abi::graphGetNumInitializers,
                    abi::graphGetInitializers, graph);
}

const abi::Value *ort::readConstant(const Api &api, const GraphValue &value) {
  bool isConstant = false;
  const abi::Value *constant = nullptr;
  if (value &&
      api.succeeds(abi::isConstantInitializer, value.info, &isConstant) &&
      isConstant)
    api(abi::getInitializerValue, value.info, &constant);
  return constant;
}

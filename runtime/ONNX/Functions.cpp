//===- Functions.cpp - Calls of a model's functions -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/Functions.h"

#include <algorithm>
#include <set>

using namespace attn;
using namespace attn::onnx;
using std::string;

namespace {

constexpr std::size_t maxNodes = 100000;

/// The names that values of a function have where it is called.
using Names = std::map<string, string>;

class Inliner {
public:
  explicit Inliner(Model &model) : model(model) {}

  Status run() {
    if (model.functions.empty())
      return {};
    for (const auto *list :
         {&model.graph.inputs, &model.graph.outputs, &model.graph.values})
      for (const ValueInfo &value : *list)
        taken.insert(value.name);
    for (const Tensor &tensor : model.graph.initializers)
      taken.insert(tensor.name);
    for (const Node &node : model.graph.nodes)
      taken.insert(node.outputs.begin(), node.outputs.end());
    for (const Node &node : model.graph.nodes)
      if (Status status = add(node); !status)
        return status;
    model.graph.nodes = std::move(result);
    return {};
  }

private:
  const LocalFunction *findFunction(const Node &node) const {
    auto found =
        std::ranges::find_if(model.functions, [&](const LocalFunction &f) {
          return f.domain == node.domain && f.name == node.opType &&
                 f.overload == node.overload;
        });
    return found == model.functions.end() ? nullptr : &*found;
  }

  /// Adds a node, or what it calls.
  Status add(const Node &node) {
    // Calls too: functions without nodes of their own may call each other.
    if (++numAdded > maxNodes)
      return Error{"the model has more than " + std::to_string(maxNodes) +
                       " nodes, with those of its functions",
                   {}};
    if (const LocalFunction *function = findFunction(node))
      return addCall(node, *function);
    result.push_back(node);
    return {};
  }

  Status addCall(const Node &call, const LocalFunction &function) {
    auto fail = [&](const string &message) {
      return Error{"node " + quote(call.name) + " (" + sanitize(call.opType) +
                       "): " + message,
                   {}};
    };
    if (std::ranges::find(open, &function) != open.end())
      return fail("is a function of the model's that calls itself");
    auto check = [&](const char *what, const auto &given, const auto &most) {
      return given.size() <= most.size()
                 ? string()
                 : "expected at most " + std::to_string(most.size()) + " " +
                       what + ", as its function has, got " +
                       std::to_string(given.size());
    };
    for (const string &message :
         {check("inputs", call.inputs, function.inputs),
          check("outputs", call.outputs, function.outputs)})
      if (!message.empty())
        return fail(message);
    for (const auto &[name, attribute] : call.attributes)
      if (!function.defaults.contains(name) &&
          std::ranges::find(function.attributes, name) ==
              function.attributes.end())
        return fail("attribute " + quote(name) +
                    " is not known to its function");

    Names names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] =
          i < call.inputs.size() ? call.inputs[i] : string();
    // Outputs that are others, or inputs, under another name.
    std::vector<Node> copies;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty())
        continue;
      auto [known, isNew] =
          names.try_emplace(function.outputs[i], call.outputs[i]);
      if (!isNew)
        copies.push_back(createCopy(call, known->second, call.outputs[i]));
    }
    string prefix = (call.name.empty() ? call.opType : call.name) + "/";
    open.push_back(&function);
    for (const Node &node : function.nodes) {
      for (const string &output : node.outputs)
        if (!output.empty() && !names.contains(output))
          names[output] = createName(prefix + output);
      Node copy = node;
      copy.name = prefix + (node.name.empty() ? node.opType : node.name);
      if (string message = bind(copy, names, call, function); !message.empty())
        return fail(message);
      if (Status status = add(copy); !status)
        return status;
    }
    open.pop_back();
    for (const Node &copy : copies)
      if (Status status = add(copy); !status)
        return status;
    return {};
  }

  /// A name that no other value has.
  string createName(const string &wanted) {
    string name = wanted;
    while (!taken.insert(name).second)
      name = wanted + "#" + std::to_string(++numNames);
    return name;
  }

  static Node createCopy(const Node &call, const string &from,
                         const string &to) {
    Node copy;
    copy.name = call.name;
    copy.opType = "Identity";
    copy.opsets = std::make_shared<const Opsets>(Opsets{{"", 13}});
    copy.inputs = {from};
    copy.outputs = {to};
    return copy;
  }

  /// Gives values of a node their names, and attributes that refer to those of
  /// the function the values of the call. Returns what is wrong.
  static string bind(Node &node, const Names &names, const Node &call,
                     const LocalFunction &function) {
    auto rename = [&](std::vector<string> &values) {
      for (string &value : values)
        if (auto found = names.find(value); found != names.end())
          value = found->second;
    };
    rename(node.inputs);
    rename(node.outputs);
    for (auto next = node.attributes.begin(); next != node.attributes.end();) {
      auto attribute = next++;
      if (attribute->second.graph) {
        Graph graph = *attribute->second.graph;
        if (string message = bind(graph, names, call, function);
            !message.empty())
          return message;
        attribute->second.graph =
            std::make_shared<const Graph>(std::move(graph));
      }
      const string &reference = attribute->second.reference;
      if (reference.empty())
        continue;
      auto given = call.attributes.find(reference);
      bool isGiven = given != call.attributes.end();
      if (!isGiven)
        given = function.defaults.find(reference);
      if (!isGiven && given == function.defaults.end()) {
        node.attributes.erase(attribute);
        continue;
      }
      if (given->second.kind != attribute->second.kind)
        return "attribute " + quote(reference) +
               " has another type than its function expects";
      Attribute value = given->second;
      attribute->second = std::move(value);
    }
    return {};
  }

  /// The same in a graph that a node has as an attribute. Its own values keep
  /// their names.
  static string bind(Graph &graph, const Names &outer, const Node &call,
                     const LocalFunction &function) {
    Names names = outer;
    for (const ValueInfo &input : graph.inputs)
      names.erase(input.name);
    for (const Tensor &tensor : graph.initializers)
      names.erase(tensor.name);
    for (const Node &node : graph.nodes)
      for (const string &output : node.outputs)
        names.erase(output);
    for (Node &node : graph.nodes)
      if (string message = bind(node, names, call, function); !message.empty())
        return message;
    return {};
  }

  Model &model;
  std::vector<Node> result;
  std::vector<const LocalFunction *> open; ///< Whose nodes are being added.
  std::set<string> taken;
  std::size_t numNames = 0, numAdded = 0;
};

} // namespace

Status attn::onnx::inlineFunctions(Model &model) {
  return Inliner(model).run();
}

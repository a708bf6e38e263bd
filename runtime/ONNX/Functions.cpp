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
constexpr std::size_t maxDepth = 64;        ///< Of calls within calls.
constexpr std::size_t maxNameLength = 4096; ///< With the names of the calls.

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
      return failSize();
    if (const LocalFunction *function = findFunction(node))
      return addCall(node, *function);
    result.push_back(node);
    return {};
  }

  static Error failSize() {
    return Error{"the model has more than " + std::to_string(maxNodes) +
                     " nodes, with those of its functions",
                 {}};
  }

  static Error fail(const Node &node, const string &message) {
    return Error{"node " + quote(node.name) + " (" + sanitize(node.opType) +
                     "): " + message,
                 {}};
  }

  Status addCall(const Node &call, const LocalFunction &function) {
    if (std::ranges::find(open, &function) != open.end())
      return fail(call, "is a function of the model's that calls itself");
    if (open.size() == maxDepth)
      return fail(call, "is a call in more than " + std::to_string(maxDepth) +
                            " others");
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
        return fail(call, message);
    for (const auto &[name, attribute] : call.attributes)
      if (!function.defaults.contains(name) &&
          std::ranges::find(function.attributes, name) ==
              function.attributes.end())
        return fail(call, "attribute " + quote(name) +
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
    Frame frame{call, function,
                (call.name.empty() ? call.opType : call.name) + "/"};
    open.push_back(&function);
    for (const Node &node : function.nodes) {
      Node copy = node;
      if (Status status = bind(copy, names, names, frame); !status)
        return status;
      if (Status status = add(copy); !status)
        return status;
    }
    open.pop_back();
    for (const Node &copy : copies)
      if (Status status = add(copy); !status)
        return status;
    return {};
  }

  /// A call whose function's nodes are being added.
  struct Frame {
    const Node &call;
    const LocalFunction &function;
    string prefix; ///< Of the names of these nodes and what they compute.
  };

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

  /// Names a node of a function and the values that it reads and computes, and
  /// gives attributes that refer to those of the function the values of the
  /// call. Its outputs are added to `names`, except those that are in `own`,
  /// which are the names of the values of its graph.
  Status bind(Node &node, Names &names, Names &own, const Frame &frame) {
    node.name = frame.prefix + (node.name.empty() ? node.opType : node.name);
    if (node.name.size() > maxNameLength)
      return fail(node, "expected a name of at most " +
                            std::to_string(maxNameLength) +
                            " bytes with those of the calls that it is in, "
                            "got " +
                            std::to_string(node.name.size()));
    for (string &input : node.inputs)
      if (Status status = rename(input, "input", names, node, frame); !status)
        return status;
    if (Status status = bindAttributes(node, names, frame); !status)
      return status;
    for (string &output : node.outputs) {
      if (output.empty())
        continue;
      if (frame.prefix.size() + output.size() > maxNameLength)
        return fail(node, "output " + quote(output) +
                              ": expected a name of at most " +
                              std::to_string(maxNameLength) +
                              " bytes with those of the calls that it is in");
      if (auto found = own.find(output); found != own.end()) {
        output = found->second;
        continue;
      }
      string name = createName(frame.prefix + output);
      own[output] = name;
      names[output] = name;
      output = name;
    }
    return {};
  }

  /// Gives a value that is read its name where the function is called.
  static Status rename(string &value, const char *what, const Names &names,
                       const Node &node, const Frame &frame) {
    if (value.empty())
      return {};
    auto found = names.find(value);
    if (found == names.end())
      return fail(node, string(what) + " " + quote(value) +
                            " is no input of the function " +
                            quote(frame.function.name) +
                            ", and computed by no node of it before");
    value = found->second;
    return {};
  }

  Status bindAttributes(Node &node, const Names &names, const Frame &frame) {
    for (auto next = node.attributes.begin(); next != node.attributes.end();) {
      auto attribute = next++;
      const string &reference = attribute->second.reference;
      if (reference.empty()) {
        if (Status status = bind(attribute->second, names, node, frame);
            !status)
          return status;
        continue;
      }
      auto given = frame.call.attributes.find(reference);
      bool isGiven = given != frame.call.attributes.end();
      if (!isGiven)
        given = frame.function.defaults.find(reference);
      if (!isGiven && given == frame.function.defaults.end()) {
        node.attributes.erase(attribute);
        continue;
      }
      if (given->second.kind != attribute->second.kind)
        return fail(frame.call,
                    "attribute " + quote(reference) +
                        " has another type than its function expects");
      Attribute value = given->second;
      attribute->second = std::move(value);
      // The call's has names of its own place. A default sees no values.
      if (!isGiven)
        if (Status status = bind(attribute->second, Names(), node, frame);
            !status)
          return status;
    }
    return {};
  }

  /// The same for the graph that an attribute of `node` is, if it is one. Its
  /// own values get new names as well: theirs may be those of values where the
  /// function is called.
  Status bind(Attribute &attribute, Names names, const Node &node,
              const Frame &frame) {
    if (!attribute.graph)
      return {};
    Graph graph = *attribute.graph;
    numAdded += graph.nodes.size();
    if (numAdded > maxNodes)
      return failSize();
    Names own;
    auto addOwn = [&](string &name) {
      auto [known, isNew] = own.try_emplace(name);
      if (isNew)
        known->second = createName(frame.prefix + name);
      name = names[name] = known->second;
    };
    for (ValueInfo &input : graph.inputs)
      addOwn(input.name);
    for (Tensor &tensor : graph.initializers)
      addOwn(tensor.name);
    for (Node &inner : graph.nodes)
      if (Status status = bind(inner, names, own, frame); !status)
        return status;
    for (ValueInfo &output : graph.outputs)
      if (Status status = rename(output.name, "output", names, node, frame);
          !status)
        return status;
    std::erase_if(graph.values, [&](ValueInfo &value) {
      auto found = own.find(value.name);
      if (found != own.end())
        value.name = found->second;
      return found == own.end();
    });
    attribute.graph = std::make_shared<const Graph>(std::move(graph));
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

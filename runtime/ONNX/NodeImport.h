//===- NodeImport.h - A node on its way to operations -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_NODEIMPORT_H
#define ATTN_RUNTIME_ONNX_NODEIMPORT_H

#include "runtime/ONNX/Model.h"
#include "runtime/ONNX/Tensors.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <optional>

namespace attn::onnx {

/// What a graph says of values, by their names.
using Declarations = llvm::StringMap<const ValueInfo *>;

/// A node, the values that it reads, and where its operations go. What asks for
/// inputs and attributes emits an error that names them, and the node, if they
/// are not as they have to be.
class NodeImport {
public:
  NodeImport(Builder &builder, const Node &node, std::int64_t version,
             ArrayRef<Value> inputs, const Declarations &declarations,
             std::function<Value(StringRef)> findOuter)
      : b(builder), node(node), version(version), declarations(declarations),
        findOuter(std::move(findOuter)), inputs(inputs),
        outputs(node.outputs.size()) {}

  Builder &b;
  const Node &node;
  /// Of the operator set that the node is of.
  const std::int64_t version;
  const Declarations &declarations;
  /// A value of the graph around, which graphs in attributes may read; null if
  /// it has no such value.
  const std::function<Value(StringRef)> findOuter;

  /// An input, or null if it is left out.
  Value input(unsigned index) const {
    return index < inputs.size() ? inputs[index] : Value();
  }
  unsigned numInputs() const { return unsigned(inputs.size()); }
  unsigned numOutputs() const { return unsigned(outputs.size()); }
  bool wantsOutput(unsigned index) const {
    return index < node.outputs.size() && !node.outputs[index].empty();
  }
  void setOutput(unsigned index, Value value) { outputs[index] = value; }
  Value output(unsigned index) const { return outputs[index]; }

  /// Whether the graph gives a dimension of an output the size, or the name of
  /// a size, of that of an input.
  bool isDeclaredAlike(unsigned output, unsigned input, std::size_t dim) const;

  /// Starts an error about the node, or about one of its inputs.
  mlir::InFlightDiagnostic error() const;
  mlir::InFlightDiagnostic error(StringRef inputName) const;

  /// Attributes; what is left out has the value `other`, or is none.
  FailureOr<std::int64_t> integer(StringRef name, std::int64_t other);
  FailureOr<std::optional<std::int64_t>> integer(StringRef name);
  /// One that is 0 or 1.
  FailureOr<bool> flag(StringRef name, bool other = false);
  /// A finite number.
  FailureOr<double> number(StringRef name, double other);
  FailureOr<std::optional<double>> number(StringRef name);
  FailureOr<std::string> text(StringRef name, StringRef other);
  FailureOr<std::optional<std::vector<std::int64_t>>> integers(StringRef name);
  FailureOr<std::shared_ptr<const Tensor>> tensor(StringRef name);
  FailureOr<std::shared_ptr<const Graph>> graph(StringRef name);
  /// An attribute that changes nothing of what is computed.
  void ignore(StringRef name) { known.insert(name); }

  /// An axis of a tensor of `rank` dimensions; negative ones count from its
  /// end.
  FailureOr<std::int64_t> axis(StringRef name, std::int64_t other,
                               std::int64_t rank);
  FailureOr<std::int64_t> resolveAxis(std::int64_t axis,
                                      std::int64_t rank) const;

  /// Fails unless the input is a tensor of floats.
  FailureOr<mlir::FloatType> floats(unsigned index, StringRef inputName) const;
  /// Fails unless the input has that rank.
  LogicalResult rank(unsigned index, StringRef inputName,
                     std::int64_t rank) const;

  /// Fails if the node has an attribute that nobody asked for.
  LogicalResult checkAttributes() const;

private:
  /// The attribute of that name and kind; null if there is none.
  FailureOr<const Attribute *> find(StringRef name, Attribute::Kind kind,
                                    StringRef expected);

  SmallVector<Value> inputs, outputs;
  llvm::StringSet<> known;
};

/// "'name' (Attention of com.microsoft)".
std::string describe(const Node &node);

/// "2x?xf32", for messages.
std::string formatType(Type type);

/// MLIR's type of elements, or null if they are of a type that no kernel has.
Type convertElementType(mlir::MLIRContext *context, DataType type);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_NODEIMPORT_H

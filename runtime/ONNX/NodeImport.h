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
             llvm::ArrayRef<mlir::Value> inputs,
             const Declarations &declarations,
             std::function<mlir::Value(llvm::StringRef)> findOuter)
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
  const std::function<mlir::Value(llvm::StringRef)> findOuter;

  /// An input, or null if it is left out.
  mlir::Value input(unsigned index) const {
    return index < inputs.size() ? inputs[index] : mlir::Value();
  }
  unsigned numInputs() const { return unsigned(inputs.size()); }
  unsigned numOutputs() const { return unsigned(outputs.size()); }
  bool wantsOutput(unsigned index) const {
    return index < node.outputs.size() && !node.outputs[index].empty();
  }
  void setOutput(unsigned index, mlir::Value value) { outputs[index] = value; }
  mlir::Value output(unsigned index) const { return outputs[index]; }

  /// Whether the graph gives a dimension of an output the size, or the name of
  /// a size, of that of an input.
  bool isDeclaredAlike(unsigned output, unsigned input, std::size_t dim) const;

  /// Starts an error about the node, or about one of its inputs.
  mlir::InFlightDiagnostic error() const;
  mlir::InFlightDiagnostic error(llvm::StringRef inputName) const;

  /// Attributes; what is left out has the value `other`, or is none.
  mlir::FailureOr<std::int64_t> integer(llvm::StringRef name,
                                        std::int64_t other);
  mlir::FailureOr<std::optional<std::int64_t>> integer(llvm::StringRef name);
  /// One that is 0 or 1.
  mlir::FailureOr<bool> flag(llvm::StringRef name, bool other = false);
  /// A finite number.
  mlir::FailureOr<double> number(llvm::StringRef name, double other);
  mlir::FailureOr<std::optional<double>> number(llvm::StringRef name);
  mlir::FailureOr<std::string> text(llvm::StringRef name,
                                    llvm::StringRef other);
  mlir::FailureOr<std::optional<std::vector<std::int64_t>>>
  integers(llvm::StringRef name);
  mlir::FailureOr<std::shared_ptr<const Tensor>> tensor(llvm::StringRef name);
  mlir::FailureOr<std::shared_ptr<const Graph>> graph(llvm::StringRef name);
  /// An attribute that changes nothing of what is computed.
  void ignore(llvm::StringRef name) { known.insert(name); }

  /// An axis of a tensor of `rank` dimensions; negative ones count from its
  /// end.
  mlir::FailureOr<std::int64_t> axis(llvm::StringRef name, std::int64_t other,
                                     std::int64_t rank);
  mlir::FailureOr<std::int64_t> resolveAxis(std::int64_t axis,
                                            std::int64_t rank) const;

  /// Fails unless the input is a tensor of floats.
  mlir::FailureOr<mlir::FloatType> floats(unsigned index,
                                          llvm::StringRef inputName) const;
  /// Fails unless the input has that rank.
  mlir::LogicalResult rank(unsigned index, llvm::StringRef inputName,
                           std::int64_t rank) const;

  /// Fails if the node has an attribute that nobody asked for.
  mlir::LogicalResult checkAttributes() const;

private:
  /// The attribute of that name and kind; null if there is none.
  mlir::FailureOr<const Attribute *>
  find(llvm::StringRef name, Attribute::Kind kind, llvm::StringRef expected);

  llvm::SmallVector<mlir::Value> inputs, outputs;
  llvm::StringSet<> known;
};

/// "'name' (Attention of com.microsoft)".
std::string describe(const Node &node);

/// "2x?xf32", for messages.
std::string formatType(mlir::Type type);

/// MLIR's type of elements, or null if they are of a type that no kernel has.
mlir::Type convertElementType(mlir::MLIRContext *context, DataType type);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_NODEIMPORT_H

//===- NodeImport.cpp - A node on its way to operations -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/NodeImport.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace attn;
using namespace attn::onnx;
using Kind = Attribute::Kind;

std::string attn::onnx::describe(const Node &node) {
  std::string result = quote(node.name) + " (" + sanitize(node.opType);
  if (!node.domain.empty())
    result += " of " + sanitize(node.domain);
  return result + ")";
}

std::string attn::onnx::formatType(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = llvm::dyn_cast<RankedTensorType>(type)) {
    for (std::int64_t size : tensor.getShape()) {
      if (mlir::ShapedType::isDynamic(size))
        os << "?x";
      else
        os << size << "x";
    }
    os << tensor.getElementType();
  } else {
    os << type;
  }
  return text;
}

Type attn::onnx::convertElementType(mlir::MLIRContext *context, DataType type) {
  mlir::Builder b(context);
  switch (type) {
  case DataType::f64:
    return b.getF64Type();
  case DataType::f32:
    return b.getF32Type();
  case DataType::f16:
    return b.getF16Type();
  case DataType::bf16:
    return b.getBF16Type();
  case DataType::i64:
    return b.getI64Type();
  case DataType::i32:
    return b.getI32Type();
  case DataType::i16:
    return b.getI16Type();
  case DataType::i8:
    return b.getI8Type();
  case DataType::boolean:
    return b.getI1Type();
  case DataType::undefined:
  case DataType::u8:
  case DataType::u16:
  case DataType::u32:
  case DataType::u64:
  case DataType::string:
    return {};
  }
  return {};
}

bool NodeImport::isDeclaredAlike(unsigned output, unsigned input,
                                 std::size_t dim) const {
  const Dimension *dimensions[2] = {};
  for (auto [name, dimension] :
       {std::pair(&node.outputs[output], &dimensions[0]),
        std::pair(&node.inputs[input], &dimensions[1])}) {
    auto found = declarations.find(*name);
    if (found != declarations.end() && found->second->type &&
        dim < found->second->type->shape.size())
      *dimension = &found->second->type->shape[dim];
  }
  auto [x, y] = dimensions;
  return x && y && x->size == y->size && x->name == y->name &&
         (x->size || !x->name.empty());
}

mlir::InFlightDiagnostic NodeImport::error() const {
  return mlir::emitError(b.getLoc()) << "node " << describe(node) << ": ";
}

mlir::InFlightDiagnostic NodeImport::error(StringRef inputName) const {
  return error() << "input '" << inputName << "': ";
}

FailureOr<const Attribute *> NodeImport::find(StringRef name, Kind kind,
                                              StringRef expected) {
  known.insert(name);
  auto found = node.attributes.find(name.str());
  if (found == node.attributes.end())
    return nullptr;
  if (found->second.kind != kind)
    return error() << "attribute '" << name << "': expected " << expected;
  return &found->second;
}

FailureOr<std::optional<std::int64_t>> NodeImport::integer(StringRef name) {
  FailureOr<const Attribute *> attribute =
      find(name, Kind::integer, "an integer");
  if (failed(attribute))
    return failure();
  return *attribute ? std::optional((*attribute)->integer) : std::nullopt;
}

FailureOr<std::int64_t> NodeImport::integer(StringRef name,
                                            std::int64_t other) {
  FailureOr<std::optional<std::int64_t>> value = integer(name);
  if (failed(value))
    return failure();
  return value->value_or(other);
}

FailureOr<bool> NodeImport::flag(StringRef name, bool other) {
  FailureOr<std::int64_t> value = integer(name, other);
  if (failed(value))
    return failure();
  if (*value != 0 && *value != 1)
    return error() << "attribute '" << name << "': expected 0 or 1, got "
                   << *value;
  return *value == 1;
}

FailureOr<std::optional<double>> NodeImport::number(StringRef name) {
  FailureOr<const Attribute *> attribute = find(name, Kind::number, "a number");
  if (failed(attribute))
    return failure();
  if (!*attribute)
    return std::optional<double>();
  if (!std::isfinite((*attribute)->number))
    return error() << "attribute '" << name << "': expected a finite number";
  return std::optional<double>((*attribute)->number);
}

FailureOr<double> NodeImport::number(StringRef name, double other) {
  FailureOr<std::optional<double>> value = number(name);
  if (failed(value))
    return failure();
  return value->value_or(other);
}

FailureOr<std::string> NodeImport::text(StringRef name, StringRef other) {
  FailureOr<const Attribute *> attribute = find(name, Kind::text, "a string");
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->text : other.str();
}

FailureOr<std::optional<std::vector<std::int64_t>>>
NodeImport::integers(StringRef name) {
  FailureOr<const Attribute *> attribute =
      find(name, Kind::integers, "a list of integers");
  if (failed(attribute))
    return failure();
  return *attribute ? std::optional((*attribute)->integers) : std::nullopt;
}

FailureOr<std::shared_ptr<const Tensor>> NodeImport::tensor(StringRef name) {
  FailureOr<const Attribute *> attribute = find(name, Kind::tensor, "a tensor");
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->tensor : nullptr;
}

FailureOr<std::shared_ptr<const Graph>> NodeImport::graph(StringRef name) {
  FailureOr<const Attribute *> attribute = find(name, Kind::graph, "a graph");
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->graph : nullptr;
}

FailureOr<std::int64_t> NodeImport::resolveAxis(std::int64_t axis,
                                                std::int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " is outside of rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<std::int64_t> NodeImport::axis(StringRef name, std::int64_t other,
                                         std::int64_t rank) {
  FailureOr<std::int64_t> value = integer(name, other);
  if (failed(value))
    return failure();
  return resolveAxis(*value, rank);
}

FailureOr<mlir::FloatType> NodeImport::floats(unsigned index,
                                              StringRef inputName) const {
  RankedTensorType type = typeOf(input(index));
  if (auto element = llvm::dyn_cast<mlir::FloatType>(type.getElementType()))
    return element;
  return error(inputName) << "expected floats, got " << formatType(type);
}

LogicalResult NodeImport::rank(unsigned index, StringRef inputName,
                               std::int64_t rank) const {
  RankedTensorType type = typeOf(input(index));
  if (type.getRank() == rank)
    return success();
  return error(inputName) << "expected rank " << rank << ", got "
                          << formatType(type);
}

LogicalResult NodeImport::checkAttributes() const {
  for (auto &[name, attribute] : node.attributes)
    if (!known.contains(name))
      return error() << "attribute " << quote(name) << " is not known";
  return success();
}

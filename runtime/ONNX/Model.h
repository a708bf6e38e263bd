//===- Model.h - An ONNX model in plain values ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the importer reads of a model, without protobuf's headers, which are
// compiled with exceptions, and MLIR's, which are not. The names are those of
// ONNX's onnx.proto, which says what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_MODEL_H
#define ATTN_RUNTIME_ONNX_MODEL_H

#include "attn/error.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::onnx {

/// Element types, by ONNX's numbers for them. There are others.
enum class DataType : std::int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
};

/// For messages: "float16", or "type 23" of what has no name here.
std::string formatDataType(DataType type);

/// A name of the model for messages: without control characters, and not longer
/// than a line.
std::string sanitize(std::string_view name);
/// The same between quotes.
inline std::string quote(std::string_view name) {
  return "'" + sanitize(name) + "'";
}

/// A size that is known or, if not, perhaps has a name.
struct Dimension {
  std::optional<std::int64_t> size;
  std::string name;
};

struct TensorType {
  DataType elementType = DataType::undefined;
  std::vector<Dimension> shape;
};

struct Tensor {
  std::string name;
  DataType elementType = DataType::undefined;
  std::vector<std::int64_t> shape;
  /// Elements in row-major order, as the host stores them; booleans are bytes
  /// of 0 or 1.
  std::string data;
};

struct Graph;

struct Attribute {
  enum class Kind {
    number,
    integer,
    text,
    tensor,
    graph,
    numbers,
    integers,
    other
  };
  Kind kind = Kind::other;
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const Graph> graph;
  /// In a function: the attribute of the function that this one has the value
  /// of, if it is not empty.
  std::string reference;
};

/// Versions of operator sets by domain; "" is ONNX's own.
using Opsets = std::map<std::string, std::int64_t>;

struct Node {
  std::string name, domain, opType, overload;
  /// Names of values; empty for what is left out.
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> attributes;
  /// Of a function's nodes; of all others, those of the model.
  std::shared_ptr<const Opsets> opsets;
};

struct ValueInfo {
  std::string name;
  /// None if the model does not say, or it is no tensor of known rank.
  std::optional<TensorType> type;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> inputs, outputs, values;
  std::vector<Tensor> initializers;
};

/// A function of a model's own.
struct LocalFunction {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  /// Names of attributes that have no default.
  std::vector<std::string> attributes;
  std::map<std::string, Attribute> defaults;
  std::vector<Node> nodes;
};

struct Model {
  Opsets opsets;
  std::vector<LocalFunction> functions;
  Graph graph;
};

/// Parses a model, and replaces calls of its functions by their nodes. Data
/// that it keeps in other files is read from `directory`, and is an error if
/// that is empty. Sizes are from 0 to 2^40, and so are products of those of a
/// tensor.
Expected<Model> parseModel(std::string_view bytes,
                           const std::string &directory);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_MODEL_H

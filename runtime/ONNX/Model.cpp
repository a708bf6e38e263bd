//===- Model.cpp - An ONNX model in plain values --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/Functions.h"

#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/unknown_field_set.h"
#include "onnx/onnx_pb.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

using namespace attn;
using namespace attn::onnx;

static_assert(std::endian::native == std::endian::little,
              "elements of ONNX's raw_data are little-endian");

static constexpr std::int64_t maxSize = std::int64_t(1) << 40;

namespace {
struct TypeFacts {
  DataType type;
  const char *name;
  std::int64_t bytes; ///< Of an element, 0 of types that are not read.
};
} // namespace

static constexpr TypeFacts typeFacts[] = {{DataType::undefined, "undefined", 0},
                                          {DataType::f32, "float", 4},
                                          {DataType::u8, "uint8", 1},
                                          {DataType::i8, "int8", 1},
                                          {DataType::u16, "uint16", 2},
                                          {DataType::i16, "int16", 2},
                                          {DataType::i32, "int32", 4},
                                          {DataType::i64, "int64", 8},
                                          {DataType::string, "string", 0},
                                          {DataType::boolean, "bool", 1},
                                          {DataType::f16, "float16", 2},
                                          {DataType::f64, "double", 8},
                                          {DataType::u32, "uint32", 4},
                                          {DataType::u64, "uint64", 8},
                                          {DataType::bf16, "bfloat16", 2}};

static const TypeFacts *findFacts(DataType type) {
  const auto *found = std::ranges::find(typeFacts, type, &TypeFacts::type);
  return found == std::end(typeFacts) ? nullptr : found;
}

std::string attn::onnx::formatDataType(DataType type) {
  const TypeFacts *facts = findFacts(type);
  return facts ? facts->name : "type " + std::to_string(int(type));
}

std::string attn::onnx::sanitize(std::string_view name) {
  constexpr std::size_t maxLength = 120;
  std::string result;
  for (char c : name.substr(0, maxLength))
    result += c >= 0x20 && c < 0x7f ? c : '?';
  if (name.size() > maxLength)
    result += "...";
  return result;
}

static std::int64_t sizeOf(DataType type) {
  const TypeFacts *facts = findFacts(type);
  return facts ? facts->bytes : 0;
}

/// The number of elements of a shape, or what is wrong with it.
static Expected<std::int64_t>
countElements(const std::vector<std::int64_t> &shape, const std::string &what) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size < 0 || size > maxSize)
      return Error{what + ": expected sizes from 0 to 2^40, got " +
                       std::to_string(size),
                   {}};
    if (size != 0 && count > maxSize / size)
      return Error{what + ": has more than 2^40 elements", {}};
    count *= size;
  }
  return count;
}

namespace {

/// Reads a message of a model, and the files that it names.
class Reader {
public:
  explicit Reader(const std::string &directory) : directory(directory) {}

  Expected<Model> readModel(const ::onnx::ModelProto &proto) {
    if (!proto.has_graph())
      return Error{"the model has no graph", {}};
    Model model;
    Expected<Opsets> opsets = readOpsets(proto, "the model");
    if (!opsets)
      return std::move(opsets).error();
    model.opsets = std::move(*opsets);
    for (const ::onnx::FunctionProto &function : proto.functions()) {
      Expected<LocalFunction> read = readFunction(function);
      if (!read)
        return std::move(read).error();
      model.functions.push_back(std::move(*read));
    }
    Expected<Graph> graph = readGraph(proto.graph());
    if (!graph)
      return std::move(graph).error();
    model.graph = std::move(*graph);
    if (Status status = inlineFunctions(model); !status)
      return status.error();
    return model;
  }

private:
  template <typename Proto>
  static Expected<Opsets> readOpsets(const Proto &proto,
                                     const std::string &what) {
    Opsets opsets;
    for (const auto &opset : proto.opset_import())
      if (!opsets.emplace(toDomain(opset.domain()), opset.version()).second)
        return Error{what + " imports two versions of domain " +
                         quote(opset.domain()),
                     {}};
    return opsets;
  }

  static std::string toDomain(const std::string &domain) {
    return domain == "ai.onnx" ? "" : domain;
  }

  /// What a message has in a field of bytes that Debian's ONNX does not know.
  static std::vector<std::string>
  readNewField(const google::protobuf::Message &message, int number) {
    std::vector<std::string> values;
    const google::protobuf::UnknownFieldSet &fields =
        message.GetReflection()->GetUnknownFields(message);
    for (int i = 0; i < fields.field_count(); ++i)
      if (const auto &field = fields.field(i);
          field.number() == number &&
          field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
        values.push_back(field.length_delimited());
    return values;
  }

  /// Two functions, or nodes, of one name differ in it.
  static std::string readOverload(const google::protobuf::Message &message,
                                  int number) {
    std::vector<std::string> values = readNewField(message, number);
    return values.empty() ? std::string() : values.back();
  }

  Expected<LocalFunction> readFunction(const ::onnx::FunctionProto &proto) {
    LocalFunction function;
    function.name = proto.name();
    function.domain = toDomain(proto.domain());
    function.overload = readOverload(proto, 13);
    function.inputs.assign(proto.input().begin(), proto.input().end());
    function.outputs.assign(proto.output().begin(), proto.output().end());
    function.attributes.assign(proto.attribute().begin(),
                               proto.attribute().end());
    std::string what = "function " + quote(function.name);
    for (const std::string &bytes : readNewField(proto, 11)) {
      ::onnx::AttributeProto attribute;
      if (!attribute.ParseFromString(bytes))
        return Error{what + ": expected an attribute, got something else", {}};
      Expected<Attribute> read = readAttribute(
          attribute, what + ": attribute " + quote(attribute.name()));
      if (!read)
        return std::move(read).error();
      function.defaults.emplace(attribute.name(), std::move(*read));
    }
    Expected<Opsets> opsets = readOpsets(proto, what);
    if (!opsets)
      return std::move(opsets).error();
    auto shared = std::make_shared<const Opsets>(std::move(*opsets));
    isInFunction = true;
    for (const ::onnx::NodeProto &node : proto.node()) {
      Expected<Node> read = readNode(node);
      if (!read)
        return Error{what + ": " + read.error().message, {}};
      read->opsets = shared;
      function.nodes.push_back(std::move(*read));
    }
    isInFunction = false;
    return function;
  }

  Expected<Graph> readGraph(const ::onnx::GraphProto &proto) {
    Graph graph;
    graph.name = proto.name();
    if (proto.sparse_initializer_size())
      return Error{"initializer " +
                       quote(proto.sparse_initializer(0).values().name()) +
                       ": sparse tensors are not imported",
                   {}};
    for (auto [from, to] : {std::pair(&proto.input(), &graph.inputs),
                            std::pair(&proto.output(), &graph.outputs),
                            std::pair(&proto.value_info(), &graph.values)})
      for (const ::onnx::ValueInfoProto &value : *from) {
        Expected<ValueInfo> info = readValue(value);
        if (!info)
          return std::move(info).error();
        to->push_back(std::move(*info));
      }
    for (const ::onnx::TensorProto &tensor : proto.initializer()) {
      Expected<Tensor> read =
          readTensor(tensor, "initializer " + quote(tensor.name()));
      if (!read)
        return std::move(read).error();
      graph.initializers.push_back(std::move(*read));
    }
    for (const ::onnx::NodeProto &node : proto.node()) {
      Expected<Node> read = readNode(node);
      if (!read)
        return std::move(read).error();
      graph.nodes.push_back(std::move(*read));
    }
    return graph;
  }

  static Expected<ValueInfo> readValue(const ::onnx::ValueInfoProto &proto) {
    ValueInfo info;
    info.name = proto.name();
    if (!proto.type().has_tensor_type() ||
        !proto.type().tensor_type().has_shape())
      return info;
    const auto &tensor = proto.type().tensor_type();
    TensorType type;
    type.elementType = DataType(tensor.elem_type());
    std::vector<std::int64_t> known;
    for (const auto &dim : tensor.shape().dim()) {
      Dimension dimension;
      dimension.name = dim.dim_param();
      // Some exporters write -1 for what they do not know.
      if (dim.has_dim_value() && dim.dim_value() != -1)
        known.push_back(dimension.size.emplace(dim.dim_value()));
      type.shape.push_back(std::move(dimension));
    }
    if (auto count = countElements(known, "value " + quote(info.name)); !count)
      return std::move(count).error();
    info.type = std::move(type);
    return info;
  }

  Expected<Node> readNode(const ::onnx::NodeProto &proto) {
    Node node;
    node.name = proto.name();
    node.opType = proto.op_type();
    node.domain = toDomain(proto.domain());
    node.overload = readOverload(proto, 8);
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    std::string what =
        "node " + quote(node.name) + " (" + quote(node.opType) + ")";
    for (const ::onnx::AttributeProto &attribute : proto.attribute()) {
      std::string where = what + ": attribute " + quote(attribute.name());
      Expected<Attribute> read = readAttribute(attribute, where);
      if (!read)
        return std::move(read).error();
      if (!node.attributes.emplace(attribute.name(), std::move(*read)).second)
        return Error{where + " is given twice", {}};
    }
    return node;
  }

  Expected<Attribute> readAttribute(const ::onnx::AttributeProto &proto,
                                    const std::string &what) {
    using Kind = Attribute::Kind;
    Attribute result;
    result.reference = proto.ref_attr_name();
    if (!result.reference.empty() && !isInFunction)
      return Error{what + " refers to one of a function, outside of any", {}};
    result.kind = readKind(proto.type());
    if (!result.reference.empty()) // The value is the call's.
      return result;
    switch (result.kind) {
    case Kind::number:
      result.number = proto.f();
      break;
    case Kind::integer:
      result.integer = proto.i();
      break;
    case Kind::text:
      result.text = proto.s();
      break;
    case Kind::numbers:
      result.numbers.assign(proto.floats().begin(), proto.floats().end());
      break;
    case Kind::integers:
      result.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case Kind::tensor: {
      Expected<Tensor> tensor = readTensor(proto.t(), what);
      if (!tensor)
        return std::move(tensor).error();
      result.tensor = std::make_shared<const Tensor>(std::move(*tensor));
      break;
    }
    case Kind::graph: {
      Expected<Graph> graph = readGraph(proto.g());
      if (!graph)
        return Error{what + ": " + graph.error().message, {}};
      result.graph = std::make_shared<const Graph>(std::move(*graph));
      break;
    }
    case Kind::other:
      break;
    }
    return result;
  }

  static Attribute::Kind readKind(::onnx::AttributeProto::AttributeType type) {
    using Kind = Attribute::Kind;
    switch (type) {
    case ::onnx::AttributeProto::FLOAT:
      return Kind::number;
    case ::onnx::AttributeProto::INT:
      return Kind::integer;
    case ::onnx::AttributeProto::STRING:
      return Kind::text;
    case ::onnx::AttributeProto::FLOATS:
      return Kind::numbers;
    case ::onnx::AttributeProto::INTS:
      return Kind::integers;
    case ::onnx::AttributeProto::TENSOR:
      return Kind::tensor;
    case ::onnx::AttributeProto::GRAPH:
      return Kind::graph;
    default: // Of a kind that no imported node has.
      return Kind::other;
    }
  }

  Expected<Tensor> readTensor(const ::onnx::TensorProto &proto,
                              const std::string &what) {
    Tensor tensor;
    tensor.name = proto.name();
    tensor.elementType = DataType(proto.data_type());
    tensor.shape.assign(proto.dims().begin(), proto.dims().end());
    Expected<std::int64_t> count = countElements(tensor.shape, what);
    if (!count)
      return std::move(count).error();
    std::int64_t size = sizeOf(tensor.elementType);
    if (size == 0 || proto.has_segment())
      return Error{
          what + ": tensors of " +
              (size ? "segments" : formatDataType(tensor.elementType)) +
              " are not imported",
          {}};
    Expected<std::string> data =
        proto.data_location() == ::onnx::TensorProto::EXTERNAL
            ? readExternal(proto, *count * size, what)
        : proto.has_raw_data() ? Expected<std::string>(proto.raw_data())
                               : readFields(proto, tensor.elementType);
    if (!data)
      return std::move(data).error();
    if (std::int64_t(data->size()) != *count * size)
      return Error{what + ": expected " + std::to_string(*count * size) +
                       " bytes for " + std::to_string(*count) + " of " +
                       formatDataType(tensor.elementType) + ", got " +
                       std::to_string(data->size()),
                   {}};
    if (tensor.elementType == DataType::boolean)
      for (char &byte : *data)
        byte = byte != 0;
    tensor.data = std::move(*data);
    return tensor;
  }

  /// Elements that are stored as numbers of a type that may be wider.
  static std::string readFields(const ::onnx::TensorProto &proto,
                                DataType type) {
    std::string data;
    auto append = [&]<typename T>(const auto &fields, T) {
      for (auto field : fields) {
        T element = T(field);
        data.append(reinterpret_cast<const char *>(&element), sizeof(T));
      }
    };
    switch (type) {
    case DataType::f32:
      append(proto.float_data(), float());
      break;
    case DataType::f64:
      append(proto.double_data(), double());
      break;
    case DataType::i64:
      append(proto.int64_data(), std::int64_t());
      break;
    case DataType::u32:
      append(proto.uint64_data(), std::uint32_t());
      break;
    case DataType::u64:
      append(proto.uint64_data(), std::uint64_t());
      break;
    case DataType::i32:
      append(proto.int32_data(), std::int32_t());
      break;
    case DataType::i16:
    case DataType::u16:
    case DataType::f16: // Their bits.
    case DataType::bf16:
      append(proto.int32_data(), std::uint16_t());
      break;
    case DataType::i8:
    case DataType::u8:
      append(proto.int32_data(), std::uint8_t());
      break;
    case DataType::boolean:
      for (std::int32_t field : proto.int32_data())
        data.push_back(field != 0);
      break;
    case DataType::undefined:
    case DataType::string:
      break;
    }
    return data;
  }

  /// A number of `external_data`.
  static std::optional<std::uint64_t> parseNumber(const std::string &text) {
    std::uint64_t number = 0;
    for (char c : text) {
      if (c < '0' || c > '9' || number > std::uint64_t(maxSize))
        return std::nullopt;
      number = 10 * number + std::uint64_t(c - '0');
    }
    return text.empty() ? std::nullopt : std::optional(number);
  }

  /// `size` bytes of a file beside the model, which may not lie outside of its
  /// directory.
  Expected<std::string> readExternal(const ::onnx::TensorProto &proto,
                                     std::int64_t size,
                                     const std::string &what) {
    std::string location;
    std::uint64_t offset = 0;
    for (const auto &entry : proto.external_data()) {
      std::optional<std::uint64_t> number;
      if (entry.key() == "location")
        location = entry.value();
      else if (entry.key() != "offset" && entry.key() != "length")
        continue; // A checksum.
      else if (number = parseNumber(entry.value()); !number)
        return Error{what +
                         ": external data: expected a number of bytes for '" +
                         entry.key() + "', got " + quote(entry.value()),
                     {}};
      else if (entry.key() == "offset")
        offset = *number;
      else if (*number != std::uint64_t(size))
        return Error{what + ": external data: expected a length of " +
                         std::to_string(size) + " bytes, got " +
                         std::to_string(*number),
                     {}};
    }
    if (directory.empty())
      return Error{what + ": external data in " + quote(location) +
                       ": no directory is given to read it from",
                   {}};
    if (!isInside(location))
      return Error{what +
                       ": external data: expected a relative path without "
                       "'..', got " +
                       quote(location),
                   {}};
    std::string path = directory + "/" + location;
    std::error_code error;
    std::ifstream file;
    if (std::filesystem::is_regular_file(path, error))
      file.open(path, std::ios::binary | std::ios::ate);
    std::streamoff end =
        file.is_open() ? std::streamoff(file.tellg()) : std::streamoff(-1);
    if (end < 0)
      return Error{what + ": external data: cannot read " + quote(path), {}};
    if (offset > std::uint64_t(end) ||
        std::uint64_t(size) > std::uint64_t(end) - offset)
      return Error{what + ": external data: expected " + std::to_string(size) +
                       " bytes at " + std::to_string(offset) + " of " +
                       quote(path) + ", which has " + std::to_string(end),
                   {}};
    std::string data(std::size_t(size), '\0');
    file.seekg(std::streamoff(offset));
    if (!file.read(data.data(), std::streamsize(size)))
      return Error{what + ": external data: cannot read " + quote(path), {}};
    return data;
  }

  static bool isInside(const std::string &location) {
    if (location.empty() || location.front() == '/' ||
        location.find('\0') != std::string::npos)
      return false;
    for (std::size_t start = 0; start <= location.size();) {
      std::size_t end = std::min(location.find('/', start), location.size());
      if (location.compare(start, end - start, "..") == 0)
        return false;
      start = end + 1;
    }
    return true;
  }

  const std::string &directory;
  bool isInFunction = false; ///< Whose attributes nodes may refer to.
};

} // namespace

Expected<Model> attn::onnx::parseModel(std::string_view bytes,
                                       const std::string &directory) {
  // What is wrong is said in the error, not on stderr.
  google::protobuf::LogSilencer silencer;
  ::onnx::ModelProto proto;
  if (bytes.size() > std::size_t(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), int(bytes.size())))
    return Error{"expected the protobuf of an ONNX model, got " +
                     std::to_string(bytes.size()) + " bytes of something else",
                 {}};
  return Reader(directory).readModel(proto);
}

//===- MultiHeadAttention.cpp - Writes the kernel of a layer --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/multi_head_attention.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/Node.h"
#include "runtime/Builder/Parameters.h"
#include "runtime/Builder/RegionWriter.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

static Status check(const MultiHeadAttention &layer) {
  const Attention &attention = layer.attention;
  if (Status checked = builder::check(attention); !checked)
    return checked;
  if (attention.sequences || attention.logSumExp)
    return expected(attention.sequences ? "attention.sequences"
                                        : "attention.logSumExp",
                    "none in a layer", "one");
  if (attention.scale && !attention.scale->node()->as<double>())
    return expected("attention.scale", "a number", "a Scalar");
  if (attention.offset &&
      std::holds_alternative<std::monostate>(attention.offset->value()))
    return expected("attention.offset", "a number, a Scalar or a Tensor",
                    "bottomRight()");
  constexpr std::int64_t largest = std::int64_t(1) << 30;
  for (auto [member, size] :
       {std::pair("attention.queryHeads", attention.queryHeads),
        std::pair("attention.headSize", attention.headSize),
        std::pair("attention.valueHeadSize",
                  attention.valueHeadSize.value_or(1))})
    if (size > largest)
      return expected(member, "at most 2^30", std::to_string(size));
  for (auto [member, size] :
       {std::pair("width", layer.width),
        std::pair("outputWidth", layer.outputWidth.value_or(1)),
        std::pair("sourceWidth", layer.sourceWidth.value_or(1))})
    if (size < 1)
      return expected(member, "at least 1", std::to_string(size));
  bool isDouble = attention.type == ElementType::f64;
  if (layer.weights != ElementType::i8 &&
      (!isFloat(layer.weights) ||
       (layer.weights == ElementType::f64 && !isDouble)))
    return expected("weights",
                    string(isDouble ? "f64, " : "") + "f32, f16, bf16 or i8",
                    string(nameOf(layer.weights)));
  if (layer.sourceWidth && layer.hasMemory)
    return expected("sourceWidth", "none with hasMemory",
                    std::to_string(*layer.sourceWidth));
  bool isCross = layer.sourceWidth || layer.hasMemory;
  if (isCross && layer.isFused.value_or(false))
    return expected("isFused", "false where keys do not come from the input",
                    "true");
  if (!isCross && attention.keyLength != dynamic)
    return expected("attention.keyLength",
                    "dynamic where keys come from the input",
                    std::to_string(attention.keyLength));
  if (isCross && layer.isCached)
    return expected("isCached", "false where keys do not come from the input",
                    "true");
  if (isCross && layer.rotary)
    return expected("rotary", "none where keys do not come from the input",
                    "one");
  if (layer.isCached && attention.offset)
    return expected("attention.offset", "none with isCached", "one");
  if (layer.rotary && (layer.rotary->size < 2 || layer.rotary->size % 2 != 0 ||
                       layer.rotary->size > attention.headSize))
    return expected("rotary.size",
                    "an even number from 2 to headSize, which is " +
                        std::to_string(attention.headSize),
                    std::to_string(layer.rotary->size));
  if (layer.normEpsilon) {
    double epsilon =
        isDouble ? *layer.normEpsilon : double(float(*layer.normEpsilon));
    if (!(epsilon > 0 && std::isfinite(epsilon)))
      return expected("normEpsilon",
                      string("a number that is positive and finite in ") +
                          (isDouble ? "f64" : "f32"),
                      writeNumber(*layer.normEpsilon));
  }
  if (!(layer.outputDropout >= 0 && layer.outputDropout < 1))
    return expected("outputDropout", "a rate from 0 up to, but not, 1",
                    writeNumber(layer.outputDropout));
  if (layer.outputDropout > 0 && !attention.dropout)
    return expected("attention.dropout", "one, for outputDropout", "none");
  return {};
}

namespace {

/// Writes one function. Values in it have numbers for names, which arguments
/// cannot have.
class LayerWriter {
public:
  explicit LayerWriter(const MultiHeadAttention &layer)
      : layer(layer), attention(layer.attention), type(attention.type),
        keyHeads(attention.keyValueHeads.value_or(attention.queryHeads)),
        valueSize(attention.valueHeadSize.value_or(attention.headSize)) {}

  Expected<string> write();

private:
  using Shape = std::vector<std::int64_t>;

  DeclarationPtr add(const string &name, ElementType element,
                     const Shape &shape) {
    return add(DeclarationPtr(Declaration{name, element, true, shape}));
  }
  DeclarationPtr add(const DeclarationPtr &declaration) {
    if (Status added = parameters.add(declaration); !added && status)
      status = std::move(added);
    return declaration;
  }
  string append(const string &operation) {
    string result = "%" + std::to_string(numValues++);
    body += "  " + result + " = " + operation + "\n";
    return result;
  }
  /// "keyword(%a, %b : type, type)".
  void writeClause(const string &keyword,
                   const std::vector<DeclarationPtr> &arguments) {
    string names, types;
    for (const DeclarationPtr &argument : arguments) {
      names += (names.empty() ? "%" : ", %") + argument->name;
      types += (types.empty() ? "" : ", ") + writeType(*argument);
    }
    clauses += "\n      " + keyword + "(" + names + " : " + types + ")";
  }
  /// `kind` comes after the keyword, but is not part of the names.
  void writeMap(const string &keyword, const string &kind, std::int64_t rows,
                std::int64_t columns, bool hasBias);
  void writeMaps();
  void writeRowOps();
  void writeAttention();
  void writeItems(RegionKind kind, const std::vector<Item> &items);

  const MultiHeadAttention &layer;
  const Attention &attention;
  const ElementType type;
  const std::int64_t keyHeads, valueSize;
  Parameters parameters;
  Status status;
  string body, clauses;
  unsigned numValues = 0;
};

void LayerWriter::writeMap(const string &keyword, const string &kind,
                           std::int64_t rows, std::int64_t columns,
                           bool hasBias) {
  string name = keyword + "_weight";
  std::vector<DeclarationPtr> map = {add(name, layer.weights, {rows, columns})};
  if (layer.weights == ElementType::i8)
    map.push_back(add(name + "_scales", ElementType::f32, {columns}));
  if (hasBias)
    map.push_back(add(name + "_bias",
                      type == ElementType::f64 ? type : ElementType::f32,
                      {columns}));
  writeClause(keyword + kind, map);
}

void LayerWriter::writeMaps() {
  std::int64_t queries = attention.queryHeads * attention.headSize,
               keys = keyHeads * attention.headSize,
               values = keyHeads * valueSize,
               outputs = attention.queryHeads * valueSize,
               from = layer.sourceWidth.value_or(layer.width);
  bool isCross = layer.sourceWidth || layer.hasMemory;
  if (layer.isFused.value_or(true) && !isCross) {
    writeMap("qkv", "", layer.width, queries + keys + values, layer.hasBias);
  } else {
    writeMap("query", "", layer.width, queries, layer.hasBias);
    if (!layer.hasMemory) {
      writeMap("key", "", from, keys, layer.hasBias);
      writeMap("value", "", from, values, layer.hasBias);
    }
  }
  writeMap("output", "", outputs, layer.outputWidth.value_or(layer.width),
           layer.hasOutputBias);
  if (layer.gate != MultiHeadAttention::Gate::none) {
    bool isOfHeads = layer.gate == MultiHeadAttention::Gate::ofHeads;
    writeMap("gate", isOfHeads ? " heads" : " elements", layer.width,
             isOfHeads ? attention.queryHeads : outputs, /*hasBias=*/false);
  }
}

void LayerWriter::writeRowOps() {
  if (layer.normEpsilon) {
    std::vector<DeclarationPtr> norms = {
        add("query_norm", type, {attention.headSize})};
    if (!layer.hasMemory)
      norms.push_back(add("key_norm", type, {attention.headSize}));
    writeClause("norms", norms);
    clauses += " epsilon(" + writeNumber(*layer.normEpsilon) + ")";
  }
  if (layer.rotary) {
    Shape shape = {dynamic, layer.rotary->size / 2};
    DeclarationPtr cosine = add("cosine", ElementType::f32, shape),
                   sine = add("sine", ElementType::f32, shape);
    writeClause(layer.rotary->interleaved ? "rope interleaved"
                                          : "rope half_split",
                {cosine, sine});
  }
}

void LayerWriter::writeItems(RegionKind kind, const std::vector<Item> &items) {
  Expected<string> written = builder::writeItems(
      items, kind, getAccumulationType(attention), parameters);
  if (written)
    clauses += *written;
  else if (status)
    status = std::move(written).error();
}

void LayerWriter::writeAttention() {
  if (attention.offset) {
    const auto &value = attention.offset->value();
    if (const auto *tensor = std::get_if<DeclarationPtr>(&value)) {
      writeClause("offset", {add(*tensor)});
    } else {
      const Node &tokens = *std::get<Index>(value).node();
      if (const auto *scalar = tokens.as<detail::Scalar>())
        writeClause("offset", {add(scalar->declaration)});
      else
        clauses +=
            "\n      offset(" +
            append("arith.constant " +
                   std::to_string(*tokens.as<std::int64_t>()) + " : index") +
            " : index)";
    }
  }
  if (attention.scale)
    clauses += "\n      scale(" +
               writeNumber(*attention.scale->node()->as<double>()) + ")";
  if (attention.sink)
    writeClause("sink", {add(attention.sink->declaration())});
  if (attention.dropout) {
    const auto *seed = attention.dropout->seed.node()->as<detail::Scalar>();
    const auto *call = attention.dropout->call.node()->as<detail::Scalar>();
    add(seed->declaration);
    add(call->declaration);
    clauses += "\n      dropout(" + writeNumber(attention.dropout->rate) +
               ", " + writeNumber(layer.outputDropout) + ", %" +
               seed->declaration->name + ", %" + call->declaration->name + ")";
  }
  writeItems(RegionKind::score, attention.score.items());
  writeItems(RegionKind::mask, attention.mask.items());
}

Expected<string> LayerWriter::write() {
  std::int64_t batch = attention.batch, length = attention.queryLength;
  auto input = add("input", type, {batch, length, layer.width});
  string from;
  if (layer.sourceWidth) {
    auto source =
        add("source", type, {batch, attention.keyLength, *layer.sourceWidth});
    from = "\n      source(%source : " + writeType(*source) + ")";
  } else if (layer.hasMemory) {
    auto key = add("key", type,
                   {batch, keyHeads, attention.keyLength, attention.headSize});
    auto value =
        add("value", type, {batch, keyHeads, attention.keyLength, valueSize});
    from = "\n      memory(%key, %value : " + writeType(*key) + ", " +
           writeType(*value) + ")";
  }
  writeMaps();
  writeRowOps();
  string caches, results;
  if (layer.isCached)
    for (auto [name, size] : {std::pair("key_cache", attention.headSize),
                              std::pair("value_cache", valueSize)}) {
      Declaration cache{name, type, true, {batch, keyHeads, dynamic, size}};
      cache.isUpdated = true;
      add(DeclarationPtr(cache));
      caches += string(", %") + name;
      results += ", " + writeType(cache);
    }
  if (layer.isCached)
    writeClause("lengths", {add("lengths", ElementType::i32, {batch})});
  parameters.reserve();
  writeAttention();
  string sizes;
  for (std::size_t dim : {0, 1})
    if (input->shape[dim] == dynamic) {
      string number =
          append("arith.constant " + std::to_string(dim) + " : index");
      sizes +=
          (sizes.empty() ? "" : ", ") +
          append("tensor.dim %input, " + number + " : " + writeType(*input));
    }
  string output = writeType(
      Declaration{"",
                  type,
                  true,
                  {batch, length, layer.outputWidth.value_or(layer.width)}});
  string empty = append("tensor.empty(" + sizes + ") : " + output);
  if (!status)
    return std::move(status).error();

  string types = output + results, result = "%" + std::to_string(numValues);
  return "func.func @layer(\n    " + parameters.write() + ")\n    -> (" +
         types + ") {\n" + body + parameters.writeSummaries() + "  " + result +
         (layer.isCached ? ":3" : "") + " = attn.multi_head_attention heads(" +
         std::to_string(attention.queryHeads) + ", " +
         std::to_string(keyHeads) + ") sizes(" +
         std::to_string(attention.headSize) + ", " + std::to_string(valueSize) +
         ")\n      ins(%input : " + writeType(*input) + ")" + from +
         "\n      outs(" + empty + caches + " : " + types + ")" + clauses +
         "\n  return " +
         (layer.isCached ? result + "#0, " + result + "#1, " + result + "#2"
                         : result) +
         " : " + types + "\n}\n";
}

} // namespace

Expected<string> MultiHeadAttention::text() const {
  if (Status checked = ::check(*this); !checked)
    return std::move(checked).error();
  return LayerWriter(*this).write();
}

//===- MultiHeadAttention.cpp - Writes the kernel of a layer --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/multi_head_attention.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/AttentionWriter.h"
#include "runtime/Builder/CacheWriter.h"
#include "runtime/Builder/CapturedSizes.h"
#include "runtime/Builder/LayerChecks.h"
#include "runtime/Builder/Node.h"
#include "runtime/Builder/Parameters.h"
#include "runtime/Builder/RegionWriter.h"

#include <initializer_list>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

namespace {

/// Writes one function. Values in it have numbers for names, which arguments
/// cannot have.
class LayerWriter {
public:
  LayerWriter(const MultiHeadAttention &layer, const Verbatim &verbatim)
      : layer(layer), verbatim(verbatim), attention(layer.attention),
        type(attention.type),
        keyHeads(attention.keyValueHeads.value_or(attention.queryHeads)),
        valueSize(attention.valueHeadSize.value_or(attention.headSize)),
        batch(attention.sequences ? 1 : attention.batch) {}

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
  /// The caches behind the output, in `outs` and as types of results.
  void writeCache();
  void writeAttention();
  void writeItems(RegionKind kind, const std::vector<Item> &items);
  /// `source` is what keys come from, and `dim` its dimension of them.
  void writeSizeChecks(const Declaration &input, const Declaration &source,
                       std::size_t dim);

  const MultiHeadAttention &layer;
  const Verbatim &verbatim;
  const Attention &attention;
  const ElementType type;
  const std::int64_t keyHeads, valueSize, batch;
  Parameters parameters;
  Status status;
  string body, clauses, caches, results;
  unsigned numValues = 0, numResults = 1;
  FirstPosition first;
};

void LayerWriter::writeMap(const string &keyword, const string &kind,
                           std::int64_t rows, std::int64_t columns,
                           bool hasBias) {
  string name = keyword + "_weight";
  Shape shape = {rows, columns};
  if (layer.panels) {
    std::int64_t width = layer.panels->width,
                 count = columns / width + (columns % width != 0);
    shape = {count, rows, width};
    if (layer.panels->inPairs)
      shape = {count, rows / 2, width, 2};
  }
  std::vector<DeclarationPtr> map = {add(name, layer.weights, shape)};
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
  if (layer.headNorms) {
    const HeadNorms &norm = *layer.headNorms;
    if (norm.ofQueriesAndKeys) {
      std::vector<DeclarationPtr> norms = {
          add("query_norm", type, {attention.headSize})};
      if (!layer.hasMemory)
        norms.push_back(add("key_norm", type, {attention.headSize}));
      writeClause("norms", norms);
    }
    if (norm.ofOutput)
      writeClause("output_norm", {add("output_norm", type, {valueSize})});
    if (norm.layer)
      clauses += " layer(" + std::to_string(*norm.layer) + ")";
    clauses += " epsilon(" + writeNumber(norm.epsilon) + ")";
  }
  if (layer.rotary) {
    Shape shape = {dynamic, layer.rotary->size / 2};
    DeclarationPtr cosine = add("cosine", ElementType::f32, shape),
                   sine = add("sine", ElementType::f32, shape);
    writeClause(layer.rotary->interleaved ? "rope interleaved"
                                          : "rope half_split",
                {cosine, sine});
    if (layer.rotary->hasPositions)
      writeClause("positions", {add("positions", ElementType::i32,
                                    {batch, attention.queryLength})});
  }
  if (attention.sequences)
    writeClause("sequences",
                {add(attention.sequences->cumulativeQuery.declaration()),
                 add(attention.sequences->cumulativeKey.declaration())});
}

void LayerWriter::writeCache() {
  if (!layer.cache)
    return;
  CacheArguments arguments = declareCache(*layer.cache, attention);
  for (const Declaration &updated : arguments.updated) {
    add(DeclarationPtr(updated));
    caches += ", %" + updated.name;
    results += ", " + writeType(updated);
    ++numResults;
  }
  auto lengths = add(DeclarationPtr(arguments.lengths));
  first = {{{"%lengths", writeType(*lengths)}}, true};
  writeClause("lengths", {lengths});
  if (arguments.counts)
    writeClause("counts", {add(DeclarationPtr(*arguments.counts))});
  if (arguments.size) {
    clauses += "\n      ring size(" +
               append("arith.index_cast %size : i64 to index") + ")";
    add(DeclarationPtr(*arguments.size));
  }
  if (arguments.table)
    writeClause("table", {add(DeclarationPtr(*arguments.table))});
}

void LayerWriter::writeItems(RegionKind kind, const std::vector<Item> &items) {
  Expected<string> written = builder::writeItems(
      items, kind, getAccumulationType(attention), first, parameters);
  if (written)
    clauses += *written;
  else if (status)
    status = std::move(written).error();
}

void LayerWriter::writeSizeChecks(const Declaration &input,
                                  const Declaration &source, std::size_t dim) {
  Extents extents;
  if (attention.sequences) {
    extents = getPackedExtents(attention);
  } else {
    extents[0] = getExtent("batch size", input, 0);
    extents[1] = Extent{"number of query heads", attention.queryHeads};
    if (!layer.cache && !attention.offset)
      extents[2] = getExtent("query length", input, 1);
    extents[4] = getExtent("query length", input, 1);
    if (!layer.cache)
      extents[3] = getExtent("key length", source, dim);
  }
  Expected<string> written = builder::writeSizeChecks(attention, extents);
  if (written)
    body += *written;
  else if (status)
    status = std::move(written).error();
}

void LayerWriter::writeAttention() {
  if (attention.offset) {
    const auto &value = attention.offset->value();
    if (const auto *tensor = std::get_if<DeclarationPtr>(&value)) {
      first = {{{"%" + (*tensor)->name, writeType(**tensor)}}, true};
      writeClause("offset", {add(*tensor)});
    } else {
      const Node &tokens = *std::get<Index>(value).node();
      if (const auto *scalar = tokens.as<detail::Scalar>()) {
        const Declaration &declaration = *scalar->declaration;
        first = {{{"%" + declaration.name, writeType(declaration)}}};
        writeClause("offset", {add(scalar->declaration)});
      } else {
        string number =
            append("arith.constant " +
                   std::to_string(*tokens.as<std::int64_t>()) + " : index");
        first = {{{number, "index"}}};
        clauses += "\n      offset(" + number + " : index)";
      }
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
  std::int64_t length = attention.queryLength;
  auto input = add("input", type, {batch, length, layer.width});
  DeclarationPtr keySource = input;
  std::size_t keyDim = 1;
  string from;
  if (layer.sourceWidth) {
    auto source =
        add("source", type, {batch, attention.keyLength, *layer.sourceWidth});
    from = "\n      source(%source : " + writeType(*source) + ")";
    keySource = source;
  } else if (layer.hasMemory) {
    auto key = add("key", type,
                   {batch, keyHeads, attention.keyLength, attention.headSize});
    auto value =
        add("value", type, {batch, keyHeads, attention.keyLength, valueSize});
    from = "\n      memory(%key, %value : " + writeType(*key) + ", " +
           writeType(*value) + ")";
    keySource = key;
    keyDim = 2;
  }
  writeMaps();
  writeRowOps();
  writeCache();
  parameters.reserve();
  writeSizeChecks(*input, *keySource, keyDim);
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

  string types = output + results, result = "%" + std::to_string(numValues),
         returned = result, count;
  if (numResults > 1) {
    returned += "#0";
    for (unsigned i = 1; i < numResults; ++i)
      returned += ", " + result + "#" + std::to_string(i);
    count = ":" + std::to_string(numResults);
  }
  string arguments = parameters.write();
  if (!verbatim.arguments.empty())
    arguments += ",\n    " + string(verbatim.arguments);
  if (!verbatim.operations.empty())
    body += "  " + string(verbatim.operations) + "\n";
  if (!verbatim.clauses.empty())
    clauses += "\n      " + string(verbatim.clauses);
  return "func.func @layer(\n    " + arguments + ")\n    -> (" + types +
         ") {\n" + body + parameters.writeSummaries() + "  " + result + count +
         " = attn.multi_head_attention heads(" +
         std::to_string(attention.queryHeads) + ", " +
         std::to_string(keyHeads) + ") sizes(" +
         std::to_string(attention.headSize) + ", " + std::to_string(valueSize) +
         ")\n      ins(%input : " + writeType(*input) + ")" + from +
         "\n      outs(" + empty + caches + " : " + types + ")" + clauses +
         "\n  return " + returned + " : " + types + "\n}\n";
}

} // namespace

Expected<string> builder::writeLayer(const MultiHeadAttention &layer,
                                     const Verbatim &verbatim) {
  if (Status checked = check(layer); !checked)
    return std::move(checked).error();
  return LayerWriter(layer, verbatim).write();
}

Expected<string> MultiHeadAttention::text() const {
  return writeLayer(*this, {});
}

//===- Attention.cpp - Writes a variant as IR -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/engine.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/AttentionWriter.h"
#include "runtime/Builder/CacheWriter.h"
#include "runtime/Builder/CapturedSizes.h"
#include "runtime/Builder/Node.h"
#include "runtime/Builder/RegionWriter.h"

#include <algorithm>
#include <initializer_list>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

namespace {

/// Writes one function. Values in it have numbers for names, which arguments
/// cannot have.
class FunctionWriter {
public:
  FunctionWriter(const Attention &attention, const Additions &additions)
      : attention(attention), additions(additions) {}

  Expected<string> write();

private:
  static DeclarationPtr declare(const char *name, ElementType type,
                                std::vector<std::int64_t> shape) {
    return DeclarationPtr(Declaration{name, type, true, std::move(shape)});
  }
  void add(const DeclarationPtr &declaration) {
    if (Status added = parameters.add(declaration); !added && status)
      status = std::move(added);
  }
  string append(const string &operation) {
    string result = "%" + std::to_string(numValues++);
    body += "  " + result + " = " + operation + "\n";
    return result;
  }
  /// "keyword(%a, %b : type, type)", and the arguments.
  void writeClause(const string &keyword,
                   std::initializer_list<DeclarationPtr> arguments);
  void writeScale();
  void writeOffset(const Declaration &query, const Declaration &key);
  void writeBottomRight(const Declaration &query, const Declaration &key);
  void writeDropout();
  void writeItems(RegionKind kind, const std::vector<Item> &items);
  /// Declares the caches, and their `lengths` as the first position.
  void declareCaches();
  /// Hides what no sequence has stored, where the mask may show it.
  void hidePadding(const string &padding);
  void writeSizeChecks(const Declaration &query, const Declaration &key);
  string writeDynamicSizes(const Declaration &query);
  /// Names and types of the results.
  string writeResults(const string &types, const DeclarationPtr &output,
                      const string &empty);

  const Attention &attention;
  const Additions &additions;
  Parameters parameters;
  Status status;
  FirstPosition first;
  string body, clauses;
  /// Names and types of the updated caches, which follow other results.
  string updated, updatedTypes;
  unsigned numValues = 0;
};

void FunctionWriter::writeClause(
    const string &keyword, std::initializer_list<DeclarationPtr> arguments) {
  string names, types;
  for (const DeclarationPtr &argument : arguments) {
    add(argument);
    names += (names.empty() ? "%" : ", %") + argument->name;
    types += (types.empty() ? "" : ", ") + writeType(*argument);
  }
  clauses += "\n      " + keyword + "(" + names + " : " + types + ")";
}

void FunctionWriter::writeScale() {
  if (!attention.scale)
    return;
  const Node &scale = *attention.scale->node();
  if (const auto *scalar = scale.as<detail::Scalar>())
    writeClause("scale", {scalar->declaration});
  else
    clauses += "\n      scale(" + writeNumber(*scale.as<double>()) + ")";
}

void FunctionWriter::writeOffset(const Declaration &query,
                                 const Declaration &key) {
  if (!attention.offset)
    return;
  const auto &value = attention.offset->value();
  if (const auto *tensor = std::get_if<DeclarationPtr>(&value)) {
    first = {{{"%" + (*tensor)->name, writeType(**tensor)}}, true};
    return writeClause("offset", {*tensor});
  }
  const Index *tokens = std::get_if<Index>(&value);
  if (!tokens) {
    writeBottomRight(query, key);
  } else if (const auto *scalar = tokens->node()->as<detail::Scalar>()) {
    const Declaration &declaration = *scalar->declaration;
    first = {{{"%" + declaration.name, writeType(declaration)}}};
    writeClause("offset", {scalar->declaration});
  } else {
    string number = append("arith.constant " +
                           std::to_string(*tokens->node()->as<std::int64_t>()) +
                           " : index");
    first = {{{number, "index"}}};
    clauses += "\n      offset(" + number + " : index)";
  }
}

/// As a number where rows are read, which IR does not know otherwise.
void FunctionWriter::writeBottomRight(const Declaration &query,
                                      const Declaration &key) {
  if (attention.sequences)
    for (const Tensor<std::int32_t, 1> &lengths :
         {attention.sequences->cumulativeQuery,
          attention.sequences->cumulativeKey})
      first.values.push_back({"%" + lengths.declaration()->name,
                              writeType(*lengths.declaration())});
  if (attention.sequences || !(readRows(attention.score.items()) ||
                               readRows(attention.mask.items()))) {
    clauses += "\n      offset(bottom_right)";
    return;
  }
  string two = append("arith.constant 2 : index");
  auto appendLength = [&](const Declaration &rows) {
    return append("tensor.dim %" + rows.name + ", " + two + " : " +
                  writeType(rows));
  };
  string keys = appendLength(key), queries = appendLength(query),
         number = append("arith.subi " + keys + ", " + queries + " : index");
  first = {{{number, "index"}}};
  clauses += "\n      offset(" + number + " : index)";
}

void FunctionWriter::writeDropout() {
  if (!attention.dropout)
    return;
  const auto *seed = attention.dropout->seed.node()->as<detail::Scalar>();
  const auto *call = attention.dropout->call.node()->as<detail::Scalar>();
  add(seed->declaration);
  add(call->declaration);
  clauses += "\n      dropout(" + writeNumber(attention.dropout->rate) + ", %" +
             seed->declaration->name + ", %" + call->declaration->name + ")";
}

void FunctionWriter::writeItems(RegionKind kind,
                                const std::vector<Item> &items) {
  Expected<string> written = builder::writeItems(
      items, kind, getAccumulationType(attention), first, parameters);
  if (written)
    clauses += *written;
  else if (status)
    status = std::move(written).error();
}

void FunctionWriter::declareCaches() {
  const CachedAttention &cached = *additions.cached;
  CacheArguments arguments =
      declareCache(cached.cache, attention, cached.isPacked);
  for (const Declaration &cache : arguments.updated) {
    add(DeclarationPtr(cache));
    updatedTypes += ", " + writeType(cache);
  }
  add(DeclarationPtr(arguments.lengths));
  for (const auto *argument : {&arguments.counts, &arguments.sequences,
                               &arguments.size, &arguments.table})
    if (*argument)
      add(DeclarationPtr(**argument));
  string type = writeType(arguments.lengths);
  first = {{{"%lengths", type}}, true};
  clauses += "\n      offset(%lengths : " + type + ")";
  if (arguments.sequences)
    clauses +=
        " sequences(%sequences : " + writeType(*arguments.sequences) + ")";
}

void FunctionWriter::hidePadding(const string &padding) {
  const std::vector<Item> &mask = attention.mask.items();
  // Without counts, no token comes after the last position that is stored.
  bool isCausal = std::any_of(mask.begin(), mask.end(), [](const Item &item) {
    return item.name == "causal";
  });
  if (additions.verbatim.clauses.empty() &&
      (additions.cached->cache.hasCounts || !isCausal))
    clauses += (mask.empty() ? "\n      mask " : ", ") + padding;
}

void FunctionWriter::writeSizeChecks(const Declaration &query,
                                     const Declaration &key) {
  Extents extents;
  if (attention.sequences) {
    extents = getPackedExtents(attention);
  } else if (additions.cached && additions.cached->isPacked) {
    CacheArguments arguments =
        declareCache(additions.cached->cache, attention, true);
    extents[0] = getExtent("number of sequences", arguments.lengths, 0);
    extents[1] = Extent{"number of query heads", attention.queryHeads};
  } else {
    extents = {getExtent("batch size", query, 0),
               getExtent("number of query heads", query, 1),
               getExtent("query length", query, 2),
               getExtent("key length", key, 2),
               getExtent("query length", query, 2)};
    if (attention.offset || additions.cached) // Queries start elsewhere.
      extents[2].reset();
    if (additions.cached)
      extents[3].reset();
  }
  Expected<string> written = builder::writeSizeChecks(attention, extents);
  if (written)
    body += *written;
  else if (status)
    status = std::move(written).error();
}

/// The sizes of the query that are not known, without its head size.
string FunctionWriter::writeDynamicSizes(const Declaration &query) {
  string sizes;
  for (std::size_t dim : {0, 2})
    if (query.shape[dim] == dynamic) {
      string number =
          append("arith.constant " + std::to_string(dim) + " : index");
      string size =
          append("tensor.dim %query, " + number + " : " + writeType(query));
      if (dim == 2 && additions.past > 0)
        size = append("arith.subi " + size + ", " +
                      append("arith.constant " +
                             std::to_string(additions.past) + " : index") +
                      " : index");
      sizes += (sizes.empty() ? "" : ", ") + size;
    }
  return sizes;
}

string FunctionWriter::writeResults(const string &types,
                                    const DeclarationPtr &output,
                                    const string &empty) {
  bool isPair = attention.logSumExp;
  string first = "%" + std::to_string(numValues++), second = first + "#1";
  if (isPair)
    first += "#0";
  body.clear();
  if (additions.finish)
    first = additions.finish(
        [this](const string &operation) { return append(operation); }, first,
        empty, writeType(*output));
  return body + "  return " + first + (isPair ? ", " + second : "") + updated +
         " : " + types + updatedTypes;
}

Expected<string> FunctionWriter::write() {
  ElementType type = attention.type;
  bool isPacked =
      attention.sequences || (additions.cached && additions.cached->isPacked);
  std::int64_t batch = isPacked ? 1 : attention.batch;
  std::int64_t keyValueHeads =
      attention.keyValueHeads.value_or(attention.queryHeads);
  std::int64_t valueSize = attention.valueHeadSize.value_or(attention.headSize);
  auto query = declare(
      "query", type,
      {batch, attention.queryHeads, attention.queryLength, attention.headSize});
  // New keys and values come as the queries do.
  std::int64_t keyLength =
      additions.cached ? attention.queryLength : attention.keyLength;
  auto key = declare("key", type,
                     {batch, keyValueHeads, keyLength, attention.headSize});
  auto value =
      declare("value", type, {batch, keyValueHeads, keyLength, valueSize});
  std::int64_t rows = attention.queryLength == dynamic
                          ? dynamic
                          : attention.queryLength - additions.past;
  std::vector<DeclarationPtr> results = {
      declare("", type, {batch, attention.queryHeads, rows, valueSize})};
  if (attention.logSumExp)
    results.push_back(declare("", getAccumulationType(attention),
                              {batch, attention.queryHeads, rows}));

  for (const DeclarationPtr &input : {query, key, value})
    add(input);
  for (const auto &[keyword, stage] : additions.stages)
    add(stage);
  for (const DeclarationPtr &argument : additions.moreArguments)
    add(argument);
  if (additions.cached)
    declareCaches();
  parameters.reserve();
  string sizes = writeDynamicSizes(*query), firstEmpty, empty, types;
  for (const DeclarationPtr &result : results) {
    string type = writeType(*result),
           tensor = append("tensor.empty(" + sizes + ") : " + type);
    if (firstEmpty.empty())
      firstEmpty = tensor;
    empty += (empty.empty() ? "" : ", ") + tensor;
    types += (types.empty() ? "" : ", ") + type;
  }
  writeScale();
  writeOffset(*query, *key);
  if (attention.sink)
    writeClause("sink", {attention.sink->declaration()});
  if (attention.sequences)
    writeClause("sequences",
                {attention.sequences->cumulativeQuery.declaration(),
                 attention.sequences->cumulativeKey.declaration()});
  for (const auto &[keyword, stage] : additions.stages)
    clauses += "\n      " + keyword + "(%" + stage->name + " : " +
               writeType(*stage) + ")";
  writeDropout();
  writeSizeChecks(*query, *key);
  writeItems(RegionKind::score, attention.score.items());
  writeItems(RegionKind::mask, attention.mask.items());
  string inputs = "%query, %key, %value : " + writeType(*query) + ", " +
                  writeType(*key) + ", " + writeType(*value);
  if (additions.cached) {
    CacheOperations cached = writeCacheOperations(*additions.cached);
    body += cached.text;
    inputs = "%query, %key.stored, %value.stored : " + writeType(*query) +
             ", " + cached.keyType + ", " + cached.valueType;
    hidePadding(cached.padding);
    updated = ", " + cached.results;
  }
  if (!status)
    return std::move(status).error();

  string arguments = parameters.write();
  const Verbatim &verbatim = additions.verbatim;
  if (!verbatim.arguments.empty())
    arguments += ",\n    " + string(verbatim.arguments);
  if (!verbatim.operations.empty())
    body += "  " + string(verbatim.operations) + "\n";
  if (!verbatim.clauses.empty())
    clauses += "\n      " + string(verbatim.clauses);
  if (attention.isBatchInvariant)
    clauses += "\n      {attn.plan = #attn.plan<batch_invariant = true>}";
  string function =
      "func.func @attention(\n    " + arguments + ")\n    -> (" + types +
      updatedTypes + ") {\n" + body + parameters.writeSummaries() + "  %" +
      std::to_string(numValues) + (attention.logSumExp ? ":2" : "") + " = " +
      string(additions.operation) + "\n      ins(" + inputs + ")\n      outs(" +
      empty + " : " + types + ")" + clauses + "\n";
  return function + writeResults(types, results[0], firstEmpty) + "\n}\n";
}

} // namespace

Expected<string> builder::writeAttention(const Attention &attention,
                                         const Additions &additions) {
  if (Status checked = check(attention); !checked)
    return std::move(checked).error();
  return FunctionWriter(attention, additions).write();
}

Expected<string> Attention::text() const { return writeAttention(*this, {}); }

Expected<Kernel> Engine::compile(const Attention &attention,
                                 const CompileOptions &options) const {
  Expected<string> text = attention.text();
  if (!text)
    return std::move(text).error();
  return compile(*text, options);
}

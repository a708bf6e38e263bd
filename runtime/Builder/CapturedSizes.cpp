//===- CapturedSizes.cpp - Sizes of what masks and scores read ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/CapturedSizes.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/Parameters.h"

#include <map>
#include <set>
#include <tuple>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

Extent builder::getExtent(string meaning, const Declaration &argument,
                          std::size_t dim, std::int64_t delta) {
  std::int64_t size = argument.shape[dim];
  return {std::move(meaning),
          size == dynamic ? dynamic : size + delta,
          argument.name,
          writeType(argument),
          dim,
          delta};
}

Extents builder::getPackedExtents(const Attention &attention) {
  Extent heads{"number of query heads", attention.queryHeads};
  const Declaration &cumulative =
      *attention.sequences->cumulativeQuery.declaration();
  return {getExtent("number of sequences", cumulative, 0, -1), heads};
}

/// Whether dimensions of size 1 stand for any.
static bool isBroadcast(const Item &item) {
  return item.name.starts_with("bias") || item.name.starts_with("boolean");
}

static bool isByRow(const Item &item) { return item.name.ends_with(" rows"); }

/// The positions at which a named mask or score reads its argument `index`;
/// none of others, which may read anything.
static std::vector<Symbol> getSymbols(const Item &item, std::size_t index) {
  std::size_t rank = item.arguments[index]->shape.size();
  if (item.name == "alibi")
    return {Symbol::head};
  if (item.name == "prefix_lm" || (item.name == "key_padding" && rank == 1))
    return {Symbol::batch};
  if (item.name == "key_padding")
    return {Symbol::batch, Symbol::key};
  if (item.name == "document")
    return {Symbol::batch, index == 0 ? Symbol::query : Symbol::key};
  if (!isBroadcast(item))
    return {};
  std::vector<Symbol> all = {Symbol::batch, Symbol::head,
                             isByRow(item) ? Symbol::row : Symbol::query,
                             Symbol::key};
  return {all.end() - std::ptrdiff_t(rank), all.end()};
}

namespace {
class CheckWriter {
public:
  explicit CheckWriter(const Extents &extents) : extents(extents) {}

  void add(const std::vector<Item> &items) {
    for (const Item &item : items) {
      add(item.parts);
      for (std::size_t index = 0; index < item.arguments.size(); ++index)
        add(item, index);
    }
  }

  string text;
  Status status;

private:
  void add(const Item &item, std::size_t index);
  void write(const Declaration &tensor, std::size_t dim, const Extent &extent,
             const string &reader);
  /// The result of an operation, which is written once. No argument's name has
  /// a point.
  string compute(const string &operation) {
    string &result = results[operation];
    if (result.empty()) {
      result = "%size." + std::to_string(results.size() - 1);
      text += "  " + result + " = " + operation + "\n";
    }
    return result;
  }
  string computeConstant(std::int64_t number) {
    return compute("arith.constant " + std::to_string(number) + " : index");
  }
  string computeSize(const string &argument, const string &type,
                     std::size_t dim) {
    string number = computeConstant(std::int64_t(dim));
    return compute("tensor.dim %" + argument + ", " + number + " : " + type);
  }

  const Extents &extents;
  std::map<string, string> results; ///< By the operation's text.
  /// Name, dimension and symbol of what is checked already.
  std::set<std::tuple<string, std::size_t, Symbol>> checked;
};
} // namespace

void CheckWriter::add(const Item &item, std::size_t index) {
  const Declaration &tensor = *item.arguments[index];
  std::vector<Symbol> symbols = getSymbols(item, index);
  bool broadcasts = isBroadcast(item);
  string reader = item.name + "(" + tensor.name + ")";
  if (isByRow(item)) // As C++ writes it.
    reader = item.name.substr(0, item.name.find(' ')) + "(rows(" + tensor.name +
             "))";
  for (std::size_t dim = 0; dim < symbols.size(); ++dim) {
    const std::optional<Extent> &extent =
        extents[std::size_t(symbols[dim]) - std::size_t(Symbol::batch)];
    std::int64_t size = tensor.shape[dim];
    if (!extent || (size == 1 && broadcasts) ||
        !checked.emplace(tensor.name, dim, symbols[dim]).second)
      continue;
    if (size == dynamic || extent->size == dynamic)
      write(tensor, dim, *extent, reader);
    else if (size != extent->size && status)
      status = expected(reader,
                        "dimension " + std::to_string(dim) + " of size " +
                            std::to_string(extent->size) +
                            (broadcasts ? " or 1" : ""),
                        std::to_string(size));
  }
}

void CheckWriter::write(const Declaration &tensor, std::size_t dim,
                        const Extent &extent, const string &reader) {
  string size = computeSize(tensor.name, writeType(tensor), dim), expected;
  if (extent.size != dynamic)
    expected = computeConstant(extent.size);
  else
    expected = computeSize(extent.argument, extent.type, extent.dim);
  if (extent.size == dynamic && extent.delta != 0)
    expected = compute("arith.addi " + expected + ", " +
                       computeConstant(extent.delta) + " : index");
  string isEqual =
      compute("arith.cmpi eq, " + size + ", " + expected + " : index");
  text += "  cf.assert " + isEqual + ", \"" + extent.meaning + " of " + reader +
          "\"\n";
}

Expected<string> builder::writeSizeChecks(const Attention &attention,
                                          const Extents &extents) {
  CheckWriter writer(extents);
  writer.add(attention.score.items());
  writer.add(attention.mask.items());
  if (!writer.status)
    return std::move(writer.status).error();
  return std::move(writer.text);
}

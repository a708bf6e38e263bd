//===- CacheWriter.cpp - Caches of a kernel as IR -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/CacheWriter.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/Parameters.h"

#include <utility>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;
using std::string;

static ElementType getElementType(const LayerCache &cache,
                                  const Attention &attention) {
  return cache.type.value_or(attention.type);
}

Status builder::checkCache(const LayerCache &cache,
                           const Attention &attention) {
  if (attention.offset)
    return expected("attention.offset", "none with a cache", "one");
  if (attention.sequences)
    return expected("attention.sequences", "none with a cache", "one");
  ElementType type = getElementType(cache, attention);
  bool isInt8 = type == ElementType::i8;
  if (isInt8 ? attention.type == ElementType::f64
             : !(isFloat(type) || isFloat8(type)) ||
                   (type != attention.type &&
                    sizeOf(type) >= sizeOf(attention.type)))
    return expected("cache.type",
                    string(nameOf(attention.type)) + ", a narrower float" +
                        (attention.type == ElementType::f64 ? "" : " or i8"),
                    string(nameOf(type)));
  if (cache.pageSize && *cache.pageSize < 1 && *cache.pageSize != dynamic)
    return expected("cache.pageSize", "at least 1, or dynamic",
                    std::to_string(*cache.pageSize));
  if (cache.pageSize && cache.isRing)
    return expected("cache.isRing", "false with pages", "true");
  return {};
}

static std::int64_t countKeyHeads(const Attention &attention) {
  return attention.keyValueHeads.value_or(attention.queryHeads);
}

static std::int64_t getValueSize(const Attention &attention) {
  return attention.valueHeadSize.value_or(attention.headSize);
}

CacheArguments builder::declareCache(const LayerCache &cache,
                                     const Attention &attention,
                                     bool isPacked) {
  using Shape = std::vector<std::int64_t>;
  std::int64_t heads = countKeyHeads(attention), batch = attention.batch;
  // Rows of a sequence, or of a page.
  Shape shape = {batch, heads, dynamic};
  if (cache.pageSize)
    shape = {dynamic, heads, *cache.pageSize};
  CacheArguments result;
  auto addUpdated = [&](const char *name, ElementType type, Shape sizes) {
    result.updated.push_back({name, type, true, std::move(sizes), {}, true});
  };
  ElementType type = getElementType(cache, attention);
  for (auto [name, size] :
       {std::pair("key_cache", attention.headSize),
        std::pair("value_cache", getValueSize(attention))}) {
    Shape rows = shape;
    rows.push_back(size);
    addUpdated(name, type, std::move(rows));
  }
  if (type == ElementType::i8)
    for (const char *name : {"key_scales", "value_scales"})
      addUpdated(name, ElementType::f32, shape);
  result.lengths = {"lengths", ElementType::i32, true, {batch}};
  if (cache.hasCounts)
    result.counts = {"counts", ElementType::i32, true, {batch}};
  if (isPacked)
    result.sequences = {"sequences",
                        ElementType::i32,
                        true,
                        {batch == dynamic ? dynamic : batch + 1}};
  if (cache.isRing)
    result.size = {"size", ElementType::i64, false, {}};
  if (cache.pageSize)
    result.table = {"table", ElementType::i32, true, {batch, dynamic}};
  return result;
}

namespace {
class CacheWriter {
public:
  explicit CacheWriter(const CachedAttention &step)
      : attention(step.attention),
        arguments(declareCache(step.cache, attention, step.isPacked)),
        afterType(writeType(
            Declaration{"", ElementType::i64, true, {attention.batch}})) {
    if (arguments.size)
      place += " ring";
    if (arguments.table)
      place += " table" + writeOperand(*arguments.table);
  }

  CacheOperations write();

private:
  static string writeOperand(const Declaration &argument) {
    return "(%" + argument.name + " : " + writeType(argument) + ")";
  }
  string writeRowsType(std::int64_t batch, std::int64_t length,
                       std::int64_t size) const {
    return writeType(
        Declaration{"",
                    attention.type,
                    true,
                    {batch, countKeyHeads(attention), length, size}});
  }
  /// Of new keys or values.
  string writeNewType(std::int64_t size) const {
    return writeRowsType(arguments.sequences ? 1 : attention.batch,
                         attention.queryLength, size);
  }
  void add(const string &operation) {
    operations.text += "  " + operation + "\n";
  }
  void writeLengthsAfter();
  void writeSize();
  /// Appends to cache `number`, and reads it. Returns the type of what is read.
  string writeRows(const string &name, std::size_t number, std::int64_t size);

  const Attention &attention;
  const CacheArguments arguments;
  const string afterType;
  string place; ///< Clauses that say where rows are.
  CacheOperations operations;
};
} // namespace

/// Of i64, which no sum of numbers that caches can have overflows.
void CacheWriter::writeLengthsAfter() {
  string type = writeType(arguments.lengths), inputs = "%lengths", types = type,
         block = "%before: i32", map = "affine_map<(b) -> (b)>",
         maps = map + ", " + map, sizes, count;
  auto addInput = [&](const string &input, const string &argument) {
    inputs += ", " + input;
    types += ", " + type;
    maps += ", " + map;
    block += ", " + argument + ": i32";
  };
  if (attention.batch == dynamic) {
    add("%batch.dim = arith.constant 0 : index");
    add("%batch.size = tensor.dim %lengths, %batch.dim : " + type);
    sizes = "%batch.size";
  }
  if (arguments.counts) {
    addInput("%counts", "%new");
    count = "  %count.wide = arith.extsi %new : i32 to i64";
  } else if (arguments.sequences) {
    string all = writeType(*arguments.sequences),
           size = sizes.empty() ? std::to_string(attention.batch) : sizes;
    for (auto [name, first] : {std::pair("begins", "0"), {"ends", "1"}}) {
      string slice = string("%sequences.") + name;
      add(slice + " = tensor.extract_slice %sequences[" + first + "] [" + size +
          "] [1] : " + all + " to " + type);
      addInput(slice, string("%") + name);
    }
    count = "  %count = arith.subi %ends, %begins : i32\n"
            "    %count.wide = arith.extsi %count : i32 to i64";
  } else {
    add("%queries.dim = arith.constant 2 : index");
    add("%queries.new = tensor.dim %key, %queries.dim : " +
        writeNewType(attention.headSize));
    add("%count.wide = arith.index_cast %queries.new : index to i64");
  }
  add("%lengths.empty = tensor.empty(" + sizes + ") : " + afterType);
  add("%lengths.after = linalg.generic {indexing_maps = [" + maps +
      "], iterator_types = [\"parallel\"]}\n      ins(" + inputs + " : " +
      types + ") outs(%lengths.empty : " + afterType + ") {\n  ^bb0(" + block +
      ", %unused: i64):");
  add("  %before.wide = arith.extsi %before : i32 to i64");
  if (!count.empty())
    add(count);
  add("  %sum = arith.addi %before.wide, %count.wide : i64");
  add("  linalg.yield %sum : i64\n  } -> " + afterType);
}

/// How many positions there are to look at.
void CacheWriter::writeSize() {
  if (arguments.size)
    return add("%positions.all = arith.index_cast %size : i64 to index");
  string keys = writeType(arguments.updated[0]);
  add("%rows.dim = arith.constant 2 : index");
  if (!arguments.table)
    return add("%positions.all = tensor.dim %key_cache, %rows.dim : " + keys);
  add("%rows.page = tensor.dim %key_cache, %rows.dim : " + keys);
  add("%pages.dim = arith.constant 1 : index");
  add("%pages.all = tensor.dim %table, %pages.dim : " +
      writeType(*arguments.table));
  add("%positions.all = arith.muli %pages.all, %rows.page : index");
}

string CacheWriter::writeRows(const string &name, std::size_t number,
                              std::int64_t size) {
  const std::vector<Declaration> &updated = arguments.updated;
  bool isQuantized = updated.size() == 4;
  string outs = "%" + updated[number].name, types = writeType(updated[number]),
         after = "%" + name + ".after", caches = after;
  if (isQuantized) {
    outs += ", %" + updated[number + 2].name;
    types += ", " + writeType(updated[number + 2]);
    caches = after + "#0, " + after + "#1";
  }
  add(after + (isQuantized ? ":2" : "") + " = attn.cache_append ins(%" + name +
      " : " + writeNewType(size) + ")\n      outs(" + outs + " : " + types +
      ")\n      lengths" + writeOperand(arguments.lengths) +
      (arguments.counts ? " counts" + writeOperand(*arguments.counts) : "") +
      (arguments.sequences ? " sequences" + writeOperand(*arguments.sequences)
                           : "") +
      place);
  string result = writeRowsType(attention.batch, dynamic, size);
  add("%" + name + ".stored = attn.cache_read ins(" + caches + " : " + types +
      ")\n      lengths(%lengths.after : " + afterType + ")" + place +
      " size(%positions.all) -> " + result);
  return result;
}

CacheOperations CacheWriter::write() {
  writeLengthsAfter();
  writeSize();
  operations.keyType = writeRows("key", 0, attention.headSize);
  operations.valueType = writeRows("value", 1, getValueSize(attention));
  operations.results = arguments.updated.size() == 4
                           ? "%key.after#0, %value.after#0, %key.after#1, "
                             "%value.after#1"
                           : "%key.after, %value.after";
  operations.padding = "key_padding(%lengths.after : " + afterType + ")";
  return std::move(operations);
}

CacheOperations builder::writeCacheOperations(const CachedAttention &step) {
  return CacheWriter(step).write();
}

//===- CachedReadsTest.cpp - Attention on caches, executed ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys and values that are read where they lie, against the oracle. Rows that
// are not stored are NaN, and entries of tables after the used ones no pages:
// whoever reads them gives another result, or touches memory of nobody.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/CacheText.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// The cache of the key or of the value.
struct StoredOperand {
  string name;
  CacheKind kind;
  ElementType type, readType;
  Index heads, rows, size; ///< Rows: the capacity, or those of a page.
  bool hasStaticRows;
  TestTensor elements, scales, table;

  bool isInt8() const { return type == ElementType::i8; }
  CacheText text() const {
    return {.name = "%" + name + "_cache",
            .kind = kind,
            .stored = type,
            .heads = heads,
            .size = size,
            .rows = hasStaticRows ? std::to_string(rows) : "?",
            .table = "%" + name + "_table"};
  }
  string writtenType() const {
    return tensorType(
        "?x" + std::to_string(heads) + "x?x" + std::to_string(size), readType);
  }
  string parameters() const {
    return ", " + text().parameters() +
           (kind == CacheKind::paged ? ", %" + name + "_table: tensor<?x?xi32>"
                                     : "");
  }
  string read() const {
    return text().read("%" + name,
                       "lengths(%" + name + "_lengths : tensor<?xi32>)",
                       writtenType());
  }
  void addTo(std::vector<TestArgument> &arguments) const {
    arguments.push_back(elements);
    if (isInt8())
      arguments.push_back(scales);
    if (kind == CacheKind::paged)
      arguments.push_back(table);
  }
};

/// What is stored is normal, but for some of the first `numHidden` rows of a
/// sequence, which are NaN; new tensors hold NaN.
StoredOperand createOperand(const string &name, CacheKind kind,
                            ElementType type, ElementType readType, Index heads,
                            Index rows, Index size,
                            const std::vector<Index> &lengths,
                            const std::vector<Index> &numHidden,
                            Random &random) {
  Index batch = Index(lengths.size()), longest = 0;
  for (Index length : lengths)
    longest = std::max(longest, length);
  if (kind == CacheKind::contiguous)
    rows = longest + random.between(0, 3);
  Index maxPages = (longest + rows - 1) / std::max<Index>(rows, 1) +
                   random.between(0, 2),
        entries = kind == CacheKind::paged ? batch * maxPages + 1 : batch;
  Layout layout;
  if (random.chance(0.5))
    layout.order = {0, 2, 1, 3};
  layout.rowPadding = random.pick<Index>({0, 0, 3});
  StoredOperand operand{name,
                        kind,
                        type,
                        readType,
                        heads,
                        rows,
                        size,
                        kind != CacheKind::contiguous && random.chance(0.8),
                        TestTensor(type, {entries, heads, rows, size}, layout),
                        TestTensor(ElementType::f32, {entries, heads, rows}),
                        TestTensor(ElementType::i32, {batch, maxPages})};
  std::vector<Index> pages(static_cast<std::size_t>(entries));
  std::iota(pages.begin(), pages.end(), 0);
  for (std::size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1],
              pages[std::size_t(random.between(0, Index(i) - 1))]);
  operand.table.fill([&](const Shape &index) {
    Index length = lengths[std::size_t(index[0])];
    if (kind == CacheKind::paged && index[1] * rows < length)
      return double(pages[std::size_t(index[0] * maxPages + index[1])]);
    return double(random.pick<Index>({-1, entries, 2000000000}));
  });
  for (Index b = 0; b < batch; ++b) {
    Index length = lengths[std::size_t(b)];
    Index first =
        kind == CacheKind::ring ? std::max<Index>(length - rows, 0) : 0;
    for (Index p = first; p < length; ++p) {
      Index entry = b, row = p;
      if (kind != CacheKind::contiguous)
        row = p % rows;
      if (kind == CacheKind::paged)
        entry = Index(*operand.table.get({b, p / rows}));
      for (Index h = 0; h < heads; ++h) {
        double scale = 0.005 * double(random.between(1, 5));
        if (p < numHidden[std::size_t(b)] && random.chance(0.1))
          scale = std::numeric_limits<double>::quiet_NaN();
        for (Index d = 0; d < size; ++d)
          operand.elements.set({entry, h, row, d},
                               operand.isInt8()
                                   ? double(random.between(-127, 127))
                                   : random.normal() + (scale - scale));
        operand.scales.set({entry, h, row}, scale);
      }
    }
  }
  return operand;
}

/// The mask of the last `queries` rows as the nodes of a tree of guesses, as
/// examples/variants writes it: each sees what is before them, and its
/// ancestors.
string writeTreeMask(Index queries) {
  return R"(offset(%offset : tensor<?xi32>)
      mask(%b, %h, %p, %j) captures(%firsts = %offset : tensor<?xi32>,
                                    %tree = %ancestors : tensor<?x?xi1>) {
        %narrow = tensor.extract %firsts[%b] : tensor<?xi32>
        %first = arith.index_cast %narrow : i32 to index
        %known = arith.cmpi slt, %j, %first : index
        %node = arith.subi %p, %first : index
        %behind = arith.subi %j, %first : index
        %zero = arith.constant 0 : index
        %last = arith.constant )" +
         std::to_string(queries - 1) + R"( : index
        %from = arith.maxsi %behind, %zero : index
        %other = arith.minsi %from, %last : index
        %ancestor = tensor.extract %tree[%node, %other] : tensor<?x?xi1>
        %sees = arith.ori %known, %ancestor : i1
        %exists = arith.cmpi sle, %behind, %last : index
        %keep = arith.andi %sees, %exists : i1
        attn.yield %keep : i1
      })";
}

/// One attention on two reads; `clauses` refers to %key_lengths, %offset,
/// %query_documents, %key_documents and %ancestors.
string writeAttention(const string &queryDims, const string &outDims,
                      const StoredOperand &key, const StoredOperand &value,
                      const string &clauses) {
  string query = tensorType(queryDims, key.readType),
         out = tensorType(outDims, key.readType);
  return "func.func @f(%query: " + query + key.parameters() +
         value.parameters() +
         ", %key_lengths: tensor<?xi32>, %value_lengths: tensor<?xi32>, "
         "%offset: tensor<?xi32>, %query_documents: tensor<?x?xi32>, "
         "%key_documents: tensor<?x?xi32>, %ancestors: tensor<?x?xi1>, "
         "%n: index) -> " +
         out +
         " {\n%c0 = arith.constant 0 : index\n%batch = tensor.dim "
         "%query, %c0 : " +
         query + "\n" + key.read() + value.read() +
         "%empty = tensor.empty(%batch) : " + out +
         "\n%0 = attn.attention ins(%query, %key, %value : " + query + ", " +
         key.writtenType() + ", " + value.writtenType() +
         ") outs(%empty : " + out + ") " + clauses + "\nreturn %0 : " + out +
         "\n}\n";
}

/// What a case is chosen from.
struct Choices {
  std::vector<CacheKind> kinds = {CacheKind::contiguous, CacheKind::ring,
                                  CacheKind::ring,       CacheKind::paged,
                                  CacheKind::paged,      CacheKind::paged};
  std::vector<ElementType> floats = {ElementType::f32, ElementType::f32,
                                     ElementType::f16, ElementType::bf16};
  std::vector<Index> rows = {8, 16, 16, 24, 32, 64, 64, 12, 5, 96, 128};
  std::vector<Index> sizes = {64, 64, 64, 64, 128, 128, 80, 48, 33, 7};
  double chanceOfInt8 = 0.35;
};

void runRandom(std::uint64_t seed, bool onThreads, const Choices &choices) {
  Random random(seed);
  const auto &[kinds, floats, allRows, sizes, chanceOfInt8] = choices;
  ElementType readType = random.pick(floats);
  ElementType type = random.chance(chanceOfInt8) ? ElementType::i8
                     : random.chance(0.2)
                         ? random.pick<ElementType>(
                               {ElementType::f8e4m3fn, ElementType::f8e5m2})
                     : random.chance(0.1) ? ElementType::f16
                                          : readType;
  if (type == ElementType::f16 && readType == ElementType::bf16)
    type = readType;
  CacheKind keyKind = random.pick(kinds), valueKind = keyKind;
  Index keyRows = random.pick(allRows), valueRows = keyRows;
  if (random.chance(0.2)) {
    valueKind = random.pick(kinds);
    valueRows = random.pick(allRows);
  }
  Index keySize = random.pick(sizes),
        valueSize = random.chance(0.2) ? random.pick(sizes) : keySize;
  Index batch = random.pick<Index>({0, 1, 2, 3, 3, 3, 3, 3}),
        heads = random.between(1, 2), group = random.pick<Index>({1, 3, 4, 8}),
        queries = random.chance(0.3) ? random.pick<Index>({17, 40, 70})
                                     : random.between(1, 4);

  bool hasRing = keyKind == CacheKind::ring || valueKind == CacheKind::ring;
  Index capacity = std::min(keyKind == CacheKind::ring ? keyRows : 1000,
                            valueKind == CacheKind::ring ? valueRows : 1000);
  if (capacity < queries)
    queries = 1;
  std::vector<Index> lengths, offsets;
  Index longest = 0;
  for (Index b = 0; b < batch; ++b) {
    Index length = random.pick<Index>(
        {0, 1, keyRows - 1, keyRows, keyRows + 1, 2 * keyRows - 1, 3 * keyRows,
         random.between(0, 400), random.between(0, 400)});
    // Of several chunks.
    if (random.chance(0.08))
      length = random.between(1000, 2600);
    lengths.push_back(length);
    offsets.push_back(length - queries);
    longest = std::max(longest, length);
  }
  // Values may be of a type of their own.
  ElementType valueType =
      random.chance(0.2) ? random.pick<ElementType>({ElementType::i8, readType,
                                                     ElementType::f8e4m3fn})
                         : type;
  // More may be stored of the values.
  std::vector<Index> valueLengths = lengths;
  if (!hasRing && random.chance(0.2))
    for (Index &length : valueLengths)
      length += random.between(0, 9);
  Index n = longest + random.pick<Index>({0, 0, 1, 17});
  if (random.chance(0.1))
    n = random.between(0, longest);

  string clauses = "offset(%offset : tensor<?xi32>) mask causal";
  Index past = random.between(0, std::min<Index>(capacity - queries, 60));
  string window = std::to_string(past);
  int mask = hasRing ? 2 : random.pick<int>({0, 1, 2, 2, 2, 3, 4});
  if (mask == 0)
    clauses = "mask key_padding(%key_lengths : tensor<?xi32>)";
  else if (mask == 2)
    clauses += ", sliding_window(" + window + ", 0)";
  else if (mask == 3)
    clauses = "mask key_padding(%key_lengths : tensor<?xi32>), "
              "document(%query_documents, %key_documents : tensor<?x?xi32>, "
              "tensor<?x?xi32>)";
  else if (mask == 4)
    clauses = writeTreeMask(queries);

  std::vector<Index> numHidden;
  for (Index offset : offsets)
    numHidden.push_back(mask == 2 ? offset - past : 0);
  StoredOperand key =
                    createOperand("key", keyKind, type, readType, heads,
                                  keyRows, keySize, lengths, numHidden, random),
                value = createOperand("value", valueKind, valueType, readType,
                                      heads, valueRows, valueSize, valueLengths,
                                      numHidden, random);
  TestTensor query(readType, {batch, heads * group, queries, keySize}),
      queryDocuments(ElementType::i32, {batch, queries}),
      keyDocuments(ElementType::i32, {batch, n}),
      ancestors(ElementType::i1, {queries, queries});
  // Those that rounding to i8 does not change, so that the tolerance is that of
  // their type: integers of which each row has the largest, times a power of 2.
  bool quantizeQueries = type == ElementType::i8 && random.chance(0.5);
  query.fill([&](const Shape &index) {
    if (!quantizeQueries)
      return random.normal();
    return double(index[3] == 0 ? 127 : random.between(-127, 127)) / 64;
  });
  queryDocuments.fill([&] { return double(random.between(0, 2)); });
  keyDocuments.fill(
      [&](const Shape &index) { return double(index[1] * 3 / (n + 1)); });
  ancestors.fill([&](const Shape &index) {
    return double(index[0] == index[1] ||
                  (index[0] > index[1] && random.chance(0.5)));
  });
  std::vector<TestArgument> arguments = {query};
  key.addTo(arguments);
  value.addTo(arguments);
  const std::vector<TestTensor> others = {i32Of(lengths), i32Of(valueLengths),
                                          i32Of(offsets), queryDocuments,
                                          keyDocuments,   ancestors};
  arguments.insert(arguments.end(), others.begin(), others.end());
  arguments.push_back(n);

  string prefix = "?x" + std::to_string(heads * group) + "x" +
                  std::to_string(queries) + "x";
  string text =
      writeAttention(prefix + std::to_string(keySize),
                     prefix + std::to_string(valueSize), key, value, clauses);
  string error = runEverywhere(text, arguments, quantizeQueries).error;
  EXPECT_EQ(error, "") << text;
  if (onThreads && error.empty())
    EXPECT_EQ(runOnThreads(1, text, arguments),
              runOnThreads(2, text, arguments))
        << text;
}

void runAll(std::uint64_t first, int count, const Choices &choices = {}) {
  forSeeds(first, numCases(count), [&](std::uint64_t seed) {
    runRandom(seed, seed % 4 == 0, choices);
  });
}

TEST(CachedReads, random) { runAll(8100, 40); }

/// Pages that are smaller than a pack of values in pairs of bf16, or parts of
/// which are.
TEST(CachedReads, bf16_in_small_pages) {
  runAll(8400, 24,
         {.kinds = {CacheKind::paged, CacheKind::paged, CacheKind::paged,
                    CacheKind::ring, CacheKind::contiguous},
          .floats = {ElementType::bf16},
          .rows = {8, 16, 16, 16, 24, 48, 80},
          .sizes = {64, 128, 128, 96},
          .chanceOfInt8 = 0.1});
}

} // namespace

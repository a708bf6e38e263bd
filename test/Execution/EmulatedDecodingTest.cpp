//===- EmulatedDecodingTest.cpp - Decoding on GPUs ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few queries of each head, whose keys are split over workgroups and merged,
// executed on the emulator, against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/CacheText.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

struct Variant {
  string parameters, clauses;
  bool hasSink = false, hasLengths = false;
};

const std::vector<Variant> variants = {
    {"", ""},
    {", %sink: tensor<?xf32>", "sink(%sink : tensor<?xf32>)", true},
    {", %sink: tensor<?xf32>",
     "offset(bottom_right) sink(%sink : tensor<?xf32>) "
     "score alibi(%sink : tensor<?xf32>) "
     "mask causal, sliding_window(300, 0)",
     true},
    {", %lengths: tensor<?xi32>", "mask key_padding(%lengths : tensor<?xi32>)",
     false, true},
    {", %lengths: tensor<?xi32>",
     "offset(%lengths : tensor<?xi32>) score softcap(5.0) mask causal", false,
     true},
};

} // namespace

/// One kernel for any lengths, 0, 1 and such as have several parts included.
TEST(EmulatedDecoding, dynamicLengths) {
  forSeeds(1, numCases(5), [](Random &random) {
    const Variant &variant = random.pick(variants);
    KernelText text{
        .type = random.pick<ElementType>({ElementType::f16, ElementType::bf16}),
        .keyValueHeads = random.pick<Index>({1, 2}),
        .keySize = random.pick<Index>({16, 64, 80}),
        .clauses = variant.clauses,
        .parameters = variant.parameters,
        .pipeline = "gpu-emulator"};
    text.queryHeads = text.keyValueHeads * random.pick<Index>({1, 3, 4, 8});
    text.valueSize = random.pick<Index>({16, text.keySize});
    Index batch = random.between(1, 3);
    for (Index keys : {Index(0), Index(1), random.between(2, 100),
                       random.between(520, 900)}) {
      SCOPED_TRACE(std::to_string(keys) + " keys of\n" + text.write());
      TestTensor query(text.type, {batch, text.queryHeads, 1, text.keySize}),
          key(text.type, {batch, text.keyValueHeads, keys, text.keySize}),
          value(text.type, {batch, text.keyValueHeads, keys, text.valueSize}),
          sink(ElementType::f32, {text.queryHeads}),
          lengths(ElementType::i32, {batch});
      for (TestTensor *tensor : {&query, &key, &value})
        tensor->fill([&] { return random.normal(); });
      // Slopes, too, which shall not make scores large.
      sink.fill([&] { return 0.02 * random.normal(); });
      lengths.fill([&] { return double(random.between(0, keys)); });
      std::vector<Argument> arguments = {query.view(), key.view(),
                                         value.view()};
      if (variant.hasSink)
        arguments.push_back(sink.view());
      if (variant.hasLengths)
        arguments.push_back(lengths.view());
      EXPECT_EQ(run(text, arguments).error, "");
    }
  });
}

/// Several queries of each head as further rows, and hidden keys of NaN. Rows
/// of states in workgroup memory may be of odd sizes.
TEST(EmulatedDecoding, fewQueries) {
  forSeeds(1, numCases(3), [](Random &random) {
    Index group = random.pick<Index>({1, 2, 5}), heads = 2,
          queries = random.between(2, 16 / group),
          keys = random.between(1, 700), size = random.pick<Index>({32, 33});
    ElementType type =
        random.pick<ElementType>({ElementType::f16, ElementType::bf16});
    auto tensor = [&](Index heads, Index length) {
      return "tensor<2x" + std::to_string(heads) + "x" +
             std::to_string(length) + "x" + std::to_string(size) + "x" +
             string(nameOf(type)) + ">";
    };
    string query = tensor(heads * group, queries), key = tensor(heads, keys);
    string text =
        "func.func @f(%q: " + query + ", %k: " + key + ", %v: " + key +
        ", %padding: tensor<2x" + std::to_string(keys) + "xi1>) -> " + query +
        " {\n%init = tensor.empty() : " + query +
        "\n%o = attn.attention ins(%q, %k, %v : " + query + ", " + key + ", " +
        key + ") outs(%init : " + query +
        ") offset(bottom_right) mask causal, "
        "key_padding(%padding : tensor<2x" +
        std::to_string(keys) + "xi1>)\nreturn %o : " + query + "\n}\n";
    TestTensor q(type, {2, heads * group, queries, size}),
        k(type, {2, heads, keys, size}), v(type, {2, heads, keys, size}),
        padding(ElementType::i1, {2, keys});
    padding.fill([&] { return random.chance(0.8); });
    q.fill([&] { return random.normal(); });
    for (TestTensor *rows : {&k, &v})
      rows->fill([&](const Shape &at) {
        return *padding.get({at[0], at[2]}) != 0 ? random.normal() : quietNaN;
      });
    EXPECT_EQ(
        runEverywhere(text, {q, k, v, padding}, false, {"gpu-emulator"}).error,
        "");
  });
}

namespace {

/// Attention of one query of each head on caches.
struct CachedAttentionText {
  ElementType type, stored, values; ///< Of queries, and of the two caches.
  Index heads = 1, group = 4;
  Index rows; ///< Of a page, or a ring.
  Index headSize = 32;
  CacheKind kind;
  string batch = "?"; ///< Number of sequences.

  bool isPaged() const { return kind == CacheKind::paged; }
  bool isRing() const { return kind == CacheKind::ring; }

  CacheText cache(const string &name, ElementType stored) const {
    return {.name = name,
            .kind = kind,
            .stored = stored,
            .heads = heads,
            .size = headSize,
            .batch = batch,
            .rows = isPaged() || isRing() ? std::to_string(rows) : "?"};
  }

  /// All but those that say where rows are.
  std::vector<TestArgument> arguments(const TestTensor &query,
                                      const TestTensor &keys,
                                      const TestTensor &keyScales,
                                      const TestTensor &values,
                                      const TestTensor &valueScales) const {
    std::vector<TestArgument> all = {query, keys};
    if (stored == ElementType::i8)
      all.emplace_back(keyScales);
    all.emplace_back(values);
    if (this->values == ElementType::i8)
      all.emplace_back(valueScales);
    return all;
  }

  /// Of a ring, to the tokens that it holds, by their distance.
  string write() const {
    string size = std::to_string(headSize),
           lengths = "tensor<" + batch + "xi32>",
           query = tensorType(batch + "x" + std::to_string(heads * group) +
                                  "x1x" + size,
                              type),
           key = tensorType(batch + "x" + std::to_string(heads) + "x?x" + size,
                            type),
           clauses = "lengths(%lengths : " + lengths + ")";
    CacheText keys = cache("%keys", stored),
              values = cache("%values", this->values);
    return "func.func @f(%q: " + query + ", " + keys.parameters() + ", " +
           values.parameters() + ", %lengths: " + lengths +
           (isPaged()  ? ", %table: tensor<" + batch + "x?xi32>"
            : isRing() ? ", %offsets: " + lengths
                       : "") +
           ", %n: index) -> " + query +
           " {\n%c0 = arith.constant 0 : index\n"
           "%batch = tensor.dim %q, %c0 : " +
           query + "\n%init = tensor.empty(" + (batch == "?" ? "%batch" : "") +
           ") : " + query + "\n" + keys.read("%key", clauses, key) +
           values.read("%value", clauses, key) +
           "%o = attn.attention ins(%q, %key, %value : " + query + ", " + key +
           ", " + key + ") outs(%init : " + query + ") " +
           (isRing() ? "offset(%offsets : " + lengths +
                           ") mask causal, sliding_window(" +
                           std::to_string(rows - 1) + ", 0)"
                     : "mask key_padding(%lengths : " + lengths + ")") +
           "\nreturn %o : " + query + "\n}\n";
  }
};

/// Sets the elements of a row of a cache, or its scale, so that rows are
/// standard normal, or NaN if there is none.
void setRow(TestTensor &cache, const Shape &at, bool isStored, Random &random) {
  bool isScale = cache.shape().size() == 3,
       isInteger = cache.type() == ElementType::i8;
  auto number = [&] {
    if (isInteger)
      return double(random.between(-127, 127));
    if (!isStored)
      return quietNaN;
    return isScale ? random.pick<double>({0.004, 0.015}) : random.normal();
  };
  if (isScale)
    return cache.set(at, number());
  Shape element = at;
  element.push_back(0);
  for (; element.back() < cache.size(3); ++element.back())
    cache.set(element, number());
}

} // namespace

namespace {

/// Values are stored as keys are, if `valuesStored` says nothing else.
void testCaches(CacheKind kind, CachedTypes types,
                const std::vector<Index> &lengths, Random &random,
                std::optional<ElementType> valuesStored = {}) {
  CachedAttentionText text{.type = types.type,
                           .stored = types.stored,
                           .values = valuesStored.value_or(types.stored),
                           .heads = random.between(1, 2),
                           .group = random.pick<Index>({1, 4}),
                           .rows = random.pick<Index>({8, 16, 32, 128, 24}),
                           .headSize = random.pick<Index>({32, 40, 5}),
                           .kind = kind,
                           .batch = lengths.size() == 1 ? "1" : "?"};
  Index heads = text.heads, pageSize = text.rows, headSize = text.headSize;
  Index batch = Index(lengths.size()), n = lengths.back() + 3,
        ofSequence = (n + pageSize - 1) / pageSize,
        entries = text.isPaged() ? batch * ofSequence : batch,
        rows = text.isPaged() ? pageSize : n;
  TestTensor query(types.type, {batch, heads * text.group, 1, headSize}),
      keys(types.stored, {entries, heads, rows, headSize}),
      values(text.values, keys.shape()),
      keyScales(ElementType::f32, {entries, heads, rows}),
      valueScales(ElementType::f32, keyScales.shape()),
      table(ElementType::i32, {batch, ofSequence});
  query.fill([&] { return random.normal(); });
  // A multiplication by a number that has no common factor shuffles.
  auto page = [&](Index b, Index number) {
    return (b * ofSequence + number) * 7919 % entries;
  };
  table.fill([&](const Shape &at) {
    bool isUsed = at[1] * pageSize < lengths[std::size_t(at[0])];
    return double(isUsed ? page(at[0], at[1]) : -1);
  });
  for (TestTensor *cache : {&keys, &values, &keyScales, &valueScales}) {
    if (cache->type() != ElementType::i8)
      cache->fill([&] { return quietNaN; });
    for (Index b = 0; b < batch; ++b)
      for (Index j = 0; j < lengths[std::size_t(b)]; ++j)
        for (Index h = 0; h < heads; ++h)
          setRow(*cache,
                 {text.isPaged() ? page(b, j / pageSize) : b, h,
                  text.isPaged() ? j % pageSize : j},
                 /*isStored=*/true, random);
  }
  TestTensor number = i32Of(lengths);
  std::vector<TestArgument> arguments =
      text.arguments(query, keys, keyScales, values, valueScales);
  arguments.emplace_back(number);
  if (text.isPaged())
    arguments.emplace_back(table);
  arguments.emplace_back(n);
  EXPECT_EQ(
      runEverywhere(text.write(), arguments, false, {"gpu-emulator"}).error, "")
      << text.write();
}

void testRings(CachedTypes types, Random &random) {
  CachedAttentionText text{.type = types.type,
                           .stored = types.stored,
                           .values = types.stored,
                           .heads = random.between(1, 2),
                           .group = random.pick<Index>({1, 4}),
                           .rows = random.pick<Index>({8, 24, 64, 320}),
                           .kind = CacheKind::ring};
  Index capacity = text.rows, heads = text.heads;
  std::vector<Index> lengths = {random.between(1, capacity), capacity,
                                random.between(capacity + 1, 3 * capacity)};
  Index batch = Index(lengths.size()), n = lengths.back() + 3;
  TestTensor query(types.type, {batch, heads * text.group, 1, 32}),
      keys(types.stored, {batch, heads, capacity, 32}),
      values(types.stored, keys.shape()),
      keyScales(ElementType::f32, {batch, heads, capacity}),
      valueScales(ElementType::f32, keyScales.shape()),
      offsets(ElementType::i32, {batch});
  query.fill([&] { return random.normal(); });
  for (TestTensor *cache : {&keys, &values, &keyScales, &valueScales})
    for (Index b = 0; b < batch; ++b)
      for (Index h = 0; h < heads; ++h)
        for (Index row = 0; row < capacity; ++row)
          setRow(*cache, {b, h, row}, row < lengths[std::size_t(b)], random);
  offsets.fill(
      [&](const Shape &at) { return double(lengths[std::size_t(at[0])] - 1); });
  TestTensor number = i32Of(lengths);
  std::vector<TestArgument> arguments =
      text.arguments(query, keys, keyScales, values, valueScales);
  arguments.insert(arguments.end(), {number, offsets, n});
  EXPECT_EQ(
      runEverywhere(text.write(), arguments, false, {"gpu-emulator"}).error, "")
      << text.write();
}

} // namespace

/// Sequences of different lengths. Rows that are not stored are NaN, and
/// entries of the table after the used ones no pages.
TEST(EmulatedDecoding, caches) {
  std::uint64_t seed = 1;
  for (CacheKind kind : {CacheKind::contiguous, CacheKind::paged})
    for (CachedTypes types : selectCachedTypes())
      forSeeds(seed++, 1, [&](Random &random) {
        testCaches(kind, types,
                   {0, random.between(1, 40), random.between(300, 700)},
                   random);
      });
}

/// One sequence, as types say: its loops over the batch are none.
TEST(EmulatedDecoding, cachesOfOneSequence) {
  std::uint64_t seed = 1;
  for (CacheKind kind : {CacheKind::contiguous, CacheKind::paged})
    forSeeds(seed++, 1, [&](Random &random) {
      testCaches(kind, {ElementType::f32, ElementType::f32},
                 {random.between(0, 600)}, random);
    });
}

/// Token j is in row j mod C, if there are not C later ones. A length of C ends
/// with the last row, and a block may have both ends of longer ones.
TEST(EmulatedDecoding, rings) {
  std::uint64_t seed = 1;
  for (CachedTypes types : selectCachedTypes())
    forSeeds(seed++, 1, [&](Random &random) { testRings(types, random); });
}

/// Keys and values in caches of different types.
TEST(EmulatedDecoding, mixedTypes) {
  using enum ElementType;
  std::uint64_t seed = 1;
  for (auto [types, values] :
       {std::pair<CachedTypes, ElementType>{{f16, i8}, f16}, {{f32, bf16}, i8}})
    forSeeds(seed++, 1, [&](Random &random) {
      testCaches(CacheKind::paged, types, {7, random.between(100, 300)}, random,
                 values);
    });
}

/// What is wrong with lengths and tables ends the launch of the check.
TEST(EmulatedDecoding, wrongLengths) {
  string text = CachedAttentionText{.type = ElementType::f16,
                                    .stored = ElementType::f16,
                                    .values = ElementType::f16,
                                    .rows = 16,
                                    .kind = CacheKind::paged}
                    .write();
  TestTensor query = normal(ElementType::f16, {2, 4, 1, 32}),
             cache = normal(ElementType::f16, {4, 1, 16, 32}),
             table(ElementType::i32, {2, 2});
  auto runWith = [&](const std::vector<double> &lengths, double lastPage) {
    table.fill([&](const Shape &at) {
      return at[0] == 1 && at[1] == 1 ? lastPage : double(at[0] + at[1]);
    });
    return runEverywhere(text,
                         {query, cache, cache, i32(lengths), table, Index(32)},
                         false, {"gpu-emulator"})
        .error;
  };
  EXPECT_EQ(runWith({3, 32}, 3), "");
  EXPECT_NE(runWith({3, 33}, 3).find("a sequence is longer than its pages"),
            string::npos);
  EXPECT_NE(runWith({-1, 32}, 3).find("expected numbers from 0"), string::npos);
  EXPECT_NE(runWith({3, 32}, 4).find("not one of the cache's"), string::npos);
  EXPECT_EQ(runWith({3, 16}, 4), "");
}

/// Parts of one attention, the second of which has no keys for some queries.
TEST(EmulatedDecoding, merge) {
  for (ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    string tensor = "tensor<?x3x?x16x" + string(nameOf(type)) + ">",
           sums = "tensor<?x3x?xf32>";
    string text =
        "func.func @f(%o1: " + tensor + ", %l1: " + sums + ", %o2: " + tensor +
        ", %l2: " + sums + ") -> (" + tensor + ", " + sums +
        ") {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n"
        "%b = tensor.dim %o1, %c0 : " +
        tensor + "\n%n = tensor.dim %o1, %c2 : " + tensor +
        "\n%o = tensor.empty(%b, %n) : " + tensor +
        "\n%l = tensor.empty(%b, %n) : " + sums +
        "\n%r:2 = attn.merge ins(%o1, %l1, %o2, %l2 : " + tensor + ", " + sums +
        ", " + tensor + ", " + sums + ") outs(%o, %l : " + tensor + ", " +
        sums + ")\nreturn %r#0, %r#1 : " + tensor + ", " + sums + "\n}\n";
    TestTensor o1 = normal(type, {2, 3, 5, 16}, 1),
               o2 = normal(type, {2, 3, 5, 16}, 2),
               l1 = normal(ElementType::f32, {2, 3, 5}, 3),
               l2 = normal(ElementType::f32, {2, 3, 5}, 4);
    for (Index d = 0; d < 16; ++d)
      o2.set({1, 2, 3, d}, quietNaN);
    l2.set({1, 2, 3}, -inf);
    l1.set({0, 0, 0}, -inf);
    l2.set({0, 0, 0}, -inf);
    EXPECT_EQ(
        runEverywhere(text, {o1, l1, o2, l2}, false, {"gpu-emulator"}).error,
        "");
  }
}

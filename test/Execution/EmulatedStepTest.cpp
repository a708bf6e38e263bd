//===- EmulatedStepTest.cpp - Steps of decoding on GPUs -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that are rotated, appended to caches and attended to in one function,
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
#include <cmath>
#include <numbers>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// A step of a model: it appends `keys` and `values`, and attends to all.
struct Step {
  ElementType type, stored; ///< Of rows, and of caches.
  Index heads = 1, group = 1, headSize = 16;
  Index rows = 16; ///< Of a page, or a ring.
  CacheKind kind = CacheKind::contiguous;
  string pairing = "half_split";
  Index pairs = 8;

  bool isPaged() const { return kind == CacheKind::paged; }
  bool isRing() const { return kind == CacheKind::ring; }
  bool hasStaticRows() const { return isPaged() || isRing(); }
  bool hasScales() const { return stored == ElementType::i8; }

  CacheText cache(const string &name) const {
    return {.name = name,
            .kind = kind,
            .stored = stored,
            .heads = heads,
            .size = headSize,
            .rows = hasStaticRows() ? std::to_string(rows) : "?"};
  }
  string write() const;
};

string Step::write() const {
  auto tensor = [&](Index numHeads) {
    return tensorType("?x" + std::to_string(numHeads) + "x?x" +
                          std::to_string(headSize),
                      type);
  };
  auto rotate = [&](const string &name, const string &alias) {
    return "%init" + name + " = tensor.empty(%batch, %length) : " + alias +
           "\n%r" + name + " = attn.rope " + pairing + " ins(%" + name +
           ", %cosine, %sine : " + alias + ", !table, !table) outs(%init" +
           name + " : " + alias + ") offset(%lengths : !lengths)\n";
  };
  auto store = [&](const CacheText &cache, const string &rows,
                   const string &result) {
    return cache.append(rows + " : !rows", "lengths(%lengths : !lengths) "
                                           "counts(%counts : !lengths)") +
           cache.readUpdated(result, "lengths(%after : !lengths)", "!rows");
  };
  CacheText keys = cache("%keys"), values = cache("%values");
  string results = "!query, " + keys.types() + ", " + values.types(),
         window = isRing()
                      ? ", sliding_window(" + std::to_string(rows - 6) + ", 0)"
                      : "";
  return "!query = " + tensor(heads * group) + "\n!rows = " + tensor(heads) +
         "\n!table = tensor<?x" + std::to_string(pairs) +
         "xf32>\n!lengths = tensor<?xi32>\n"
         "func.func @f(%q: !query, %k: !rows, %v: !rows, %cosine: !table, "
         "%sine: !table, %lengths: !lengths, %counts: !lengths, %n: index, " +
         keys.parameters() + ", " + values.parameters() +
         (isPaged() ? ", %table: tensor<?x?xi32>" : "") + ") -> (" + results +
         ") {\n%c0 = arith.constant 0 : index\n"
         "%c2 = arith.constant 2 : index\n"
         "%batch = tensor.dim %q, %c0 : !query\n"
         "%length = tensor.dim %q, %c2 : !query\n"
         "%after = arith.addi %lengths, %counts : !lengths\n" +
         rotate("q", "!query") + rotate("k", "!rows") +
         store(keys, "%rk", "%key") + store(values, "%v", "%value") +
         "%init = tensor.empty(%batch, %length) : !query\n"
         "%o = attn.attention ins(%rq, %key, %value : !query, !rows, !rows) "
         "outs(%init : !query) offset(%lengths : !lengths) "
         "mask causal, key_padding(%after : !lengths)" +
         window + "\nreturn %o, " + keys.updated() + ", " + values.updated() +
         " : " + results + "\n}\n";
}

/// The call of a step, with what it points to.
struct Call {
  Call(const Step &step, const std::vector<double> &lengths,
       const std::vector<double> &counts, Index queries, Index capacity,
       Random &random);

  std::vector<TestArgument> arguments() const {
    std::vector<TestArgument> result = {query,  key,     value,  cosine, sine,
                                        stored, counted, number, keys};
    if (hasScales)
      result.emplace_back(keyScales);
    result.emplace_back(values);
    if (hasScales)
      result.emplace_back(valueScales);
    if (isPaged)
      result.emplace_back(table);
    return result;
  }

  bool isPaged, hasScales;
  Index number;
  TestTensor query, key, value, cosine, sine, stored, counted, keys, values,
      table, keyScales, valueScales;
};

/// Entries of a cache: pages, one more than sequences use, or sequences.
Index countEntries(const Step &step, std::size_t batch, Index capacity) {
  return step.isPaged() ? Index(batch) * (capacity / step.rows) + 1
                        : Index(batch);
}

Call::Call(const Step &step, const std::vector<double> &lengths,
           const std::vector<double> &counts, Index queries, Index capacity,
           Random &random)
    : isPaged(step.isPaged()), hasScales(step.hasScales()), number(capacity),
      query(step.type, {Index(lengths.size()), step.heads * step.group, queries,
                        step.headSize}),
      key(step.type,
          {Index(lengths.size()), step.heads, queries, step.headSize}),
      value(step.type, key.shape()),
      cosine(ElementType::f32, {3 * capacity + 9, step.pairs}),
      sine(ElementType::f32, cosine.shape()), stored(i32(lengths)),
      counted(i32(counts)),
      keys(step.stored,
           {countEntries(step, lengths.size(), capacity), step.heads,
            step.hasStaticRows() ? step.rows : capacity, step.headSize}),
      values(step.stored, keys.shape()),
      table(ElementType::i32,
            {Index(lengths.size()), std::max<Index>(1, capacity / step.rows)}),
      keyScales(ElementType::f32, {keys.size(0), keys.size(1), keys.size(2)}),
      valueScales(ElementType::f32, keyScales.shape()) {
  for (TestTensor *tensor : {&query, &key, &value})
    tensor->fill([&] { return random.normal(); });
  // Quarters of turns are exact: what a row of i8 becomes depends on its last
  // bit.
  auto angle = [&](const Shape &i) {
    return step.hasScales()
               ? std::numbers::pi / 2 * double((i[0] + i[1]) % 4)
               : double(i[0]) * std::pow(10000.0, -double(i[1]) / 8);
  };
  auto rounded = [&](double number) {
    return step.hasScales() ? std::round(number) : number;
  };
  cosine.fill([&](const Shape &i) { return rounded(std::cos(angle(i))); });
  sine.fill([&](const Shape &i) { return rounded(std::sin(angle(i))); });
  for (TestTensor *tensor : {&keys, &values})
    tensor->fill([&] {
      return step.hasScales() ? double(random.between(-127, 127))
                              : random.normal();
    });
  for (TestTensor *tensor : {&keyScales, &valueScales})
    tensor->fill([&] { return 0.01; });
  table.fill([&](const Shape &at) {
    return double((at[0] * table.size(1) + at[1]) * 7919 % keys.size(0));
  });
}

void testStep(CacheKind kind, CachedTypes types, Random &random) {
  Step step{.type = types.type, .stored = types.stored, .kind = kind};
  step.heads = random.between(1, 2);
  step.group = random.pick<Index>({1, 3});
  step.headSize = random.pick<Index>({16, 40, 7});
  step.pairs = random.between(1, step.headSize / 2);
  step.pairing = random.pick<string>({"half_split", "interleaved"});
  step.rows = step.isRing() ? 40 : 8;
  Index capacity = step.isRing() ? 100 : 40,
        queries = random.pick<Index>({1, 1, 5, 0});
  std::vector<double> lengths, counts;
  for (Index b = 0, batch = random.between(1, 3); b < batch; ++b) {
    counts.push_back(double(random.between(0, queries)));
    lengths.push_back(
        double(random.between(0, capacity - Index(counts.back()))));
  }
  Call call(step, lengths, counts, queries, capacity, random);
  EXPECT_EQ(
      runEverywhere(step.write(), call.arguments(), false, {"gpu-emulator"})
          .error,
      "")
      << step.write();
}

} // namespace

TEST(EmulatedStep, random) {
  std::uint64_t seed = 1;
  for (CacheKind kind : allCacheKinds)
    for (CachedTypes types : selectCachedTypes())
      forSeeds(seed++, 1,
               [&](Random &random) { testStep(kind, types, random); });
}

/// What is wrong ends a launch before anything is written.
TEST(EmulatedStep, errors) {
  Step step{.type = ElementType::f16,
            .stored = ElementType::f16,
            .rows = 8,
            .kind = CacheKind::paged};
  auto runWith = [&](const std::vector<double> &counts, double lastPage,
                     double firstPage = 0) {
    Random random(1);
    Call call(step, {7, 9}, counts, 2, 16, random);
    // The first sequence ends with page 0 or goes on in page 1.
    call.table.fill([&](const Shape &at) {
      return at[0] == 0   ? firstPage + double(at[1])
             : at[1] == 0 ? 2.0
                          : lastPage;
    });
    return runEverywhere(step.write(), call.arguments(), false,
                         {"gpu-emulator"})
        .error;
  };
  EXPECT_EQ(runWith({2, 2}, 3), "");
  EXPECT_NE(runWith({3, 1}, 3).find("from 0 to the number of rows"),
            string::npos);
  EXPECT_NE(runWith({1, 1}, 9).find("not one of the cache's"), string::npos);
  // It is written, and stands elsewhere.
  EXPECT_NE(runWith({2, 2}, 1).find("stands elsewhere"), string::npos);
  EXPECT_NE(runWith({2, 2}, 2).find("stands elsewhere"), string::npos);
  EXPECT_NE(runWith({2, 1}, 3, 3).find("stands elsewhere"), string::npos);
  // What stands elsewhere is not used, or not written.
  EXPECT_EQ(runWith({1, 2}, 1), "");
  EXPECT_EQ(runWith({0, 1}, 4, 2), "");
}

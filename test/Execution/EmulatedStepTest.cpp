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

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

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
  enum class Kind { contiguous, ring, paged };

  ElementType type, stored; ///< Of rows, and of caches.
  Index heads = 1, group = 1, headSize = 16;
  Index rows = 16; ///< Of a page, or a ring.
  Kind kind = Kind::contiguous;
  string pairing = "half_split";
  Index pairs = 8;

  bool isPaged() const { return kind == Kind::paged; }
  bool isRing() const { return kind == Kind::ring; }
  bool hasScales() const { return stored == ElementType::i8; }

  string tensor(Index numHeads, ElementType element) const {
    return "tensor<?x" + std::to_string(numHeads) + "x?x" +
           std::to_string(headSize) + "x" + string(nameOf(element)) + ">";
  }
  string write() const;
};

/// Replaces the names of types and clauses in a text.
string fill(string text,
            const std::vector<std::pair<string, string>> &replacements) {
  for (const auto &[name, by] : replacements)
    for (std::size_t at; (at = text.find(name)) != string::npos;)
      text.replace(at, name.size(), by);
  return text;
}

string Step::write() const {
  string size = isPaged() || isRing() ? std::to_string(rows) : "?",
         cache = "tensor<?x" + std::to_string(heads) + "x" + size,
         scales = cache + "xf32>",
         ofCaches = cache + "x" + std::to_string(headSize) + "x" +
                    string(nameOf(stored)) + ">";
  string kindClause = isPaged()  ? " table(%table : tensor<?x?xi32>)"
                      : isRing() ? " ring"
                                 : "";
  string text = R"(func.func @f(%q: QUERY, %k: ROWS, %v: ROWS, %cosine: TABLE,
    %sine: TABLE, %lengths: LENGTHS, %counts: LENGTHS, %n: index,
    %keys: CACHE, %values: CACHEOTHERS) -> (QUERY, CACHE, CACHEMORE) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : QUERY
  %length = tensor.dim %q, %c2 : QUERY
  %initq = tensor.empty(%batch, %length) : QUERY
  %initk = tensor.empty(%batch, %length) : ROWS
  %rq = attn.rope PAIRING ins(%q, %cosine, %sine : QUERY, TABLE, TABLE)
      outs(%initq : QUERY) offset(%lengths : LENGTHS)
  %rk = attn.rope PAIRING ins(%k, %cosine, %sine : ROWS, TABLE, TABLE)
      outs(%initk : ROWS) offset(%lengths : LENGTHS)
  %after = arith.addi %lengths, %counts : LENGTHS
)";
  for (string name : {"key", "value"}) {
    string rowsOf = name == "key" ? "%rk" : "%v";
    string both = hasScales()
                      ? "%" + name + "s, %" + name + "_scales : CACHE, SCALES"
                      : "%" + name + "s : CACHE",
           after = hasScales() ? "%new" + name + "#0, %new" + name +
                                     "#1 : CACHE, SCALES"
                               : "%new" + name + " : CACHE";
    text += "  %new" + name + (hasScales() ? ":2" : "") +
            " = attn.cache_append ins(" + rowsOf + " : ROWS) outs(" + both +
            ") lengths(%lengths : LENGTHS) counts(%counts : LENGTHS)KIND\n"
            "  %" +
            name + " = attn.cache_read ins(" + after +
            ") lengths(%after : LENGTHS)KIND size(%n) -> ROWS\n";
  }
  text += R"(  %init = tensor.empty(%batch, %length) : QUERY
  %o = attn.attention ins(%rq, %key, %value : QUERY, ROWS, ROWS)
      outs(%init : QUERY) offset(%lengths : LENGTHS)
      mask causal, key_padding(%after : LENGTHS)WINDOW
  return %o, RESULTS
}
)";
  string results, others, more;
  if (isPaged())
    others += ", %table: tensor<?x?xi32>";
  if (hasScales()) {
    others += ", %key_scales: SCALES, %value_scales: SCALES";
    more = ", SCALES, SCALES";
    results = "%newkey#0, %newvalue#0, %newkey#1, %newvalue#1 : QUERY, "
              "CACHE, CACHE, SCALES, SCALES";
  } else {
    results = "%newkey, %newvalue : QUERY, CACHE, CACHE";
  }
  return fill(text, {{"OTHERS", others},
                     {"MORE", more},
                     {"RESULTS", results},
                     {"KIND", kindClause},
                     {"WINDOW", isRing() ? ", sliding_window(" +
                                               std::to_string(rows - 6) + ", 0)"
                                         : ""},
                     {"PAIRING", pairing},
                     {"QUERY", tensor(heads * group, type)},
                     {"ROWS", tensor(heads, type)},
                     {"LENGTHS", "tensor<?xi32>"},
                     {"TABLE", "tensor<?x" + std::to_string(pairs) + "xf32>"},
                     {"SCALES", scales},
                     {"CACHE", ofCaches}});
}

/// The call of a step, with what it points to.
struct Call {
  Call(const Step &step, const std::vector<double> &lengths,
       const std::vector<double> &counts, Index queries, Index capacity,
       Random &random);

  std::vector<TestArgument> arguments() const {
    std::vector<TestArgument> result = {
        query, key, value, cosine, sine, stored, counted, number, keys, values};
    if (isPaged)
      result.emplace_back(table);
    if (hasScales)
      result.insert(result.end(), {keyScales, valueScales});
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
            step.isPaged() || step.isRing() ? step.rows : capacity,
            step.headSize}),
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

} // namespace

TEST(EmulatedStep, random) {
  for (std::uint64_t number = 1; number <= unsigned(numCases(9)); ++number) {
    SCOPED_TRACE("seed " + std::to_string(number));
    Random random(number);
    Step step{.type = random.pick<ElementType>(
                  {ElementType::f16, ElementType::bf16, ElementType::f32})};
    step.stored = random.pick<ElementType>({step.type, ElementType::i8});
    if (step.type == ElementType::f32 && random.chance(0.3))
      step.stored = ElementType::f16;
    step.kind = random.pick<Step::Kind>(
        {Step::Kind::contiguous, Step::Kind::ring, Step::Kind::paged});
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
}

/// What is wrong ends a launch before anything is written.
TEST(EmulatedStep, errors) {
  Step step{.type = ElementType::f16,
            .stored = ElementType::f16,
            .rows = 8,
            .kind = Step::Kind::paged};
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

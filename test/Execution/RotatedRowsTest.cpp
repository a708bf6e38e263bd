//===- RotatedRowsTest.cpp - Rows rotated where they are used -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of a model: attn.rope of the keys that attn.cache_append stores, and of
// the queries of the attention to them, for every kind of cache, against the
// oracle.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

enum class Kind { contiguous, ring, paged };

/// One step, of which `clauses` say where rows are and what is seen.
struct StepText {
  Index heads, group, size, pairs;
  string length;     ///< Of the new rows: a number, or "?".
  string storedRows; ///< The capacity, or the rows of a page.
  ElementType type, cacheType;
  string pairing, position, cacheClauses, counts, mask, parameters;
  bool isQueryUsedTwice;

  string tensor(const string &dims, ElementType element) const {
    return "tensor<" + dims + "x" + string(nameOf(element)) + ">";
  }
  string row() const { return "x" + std::to_string(size); }

  string write() const {
    string few = std::to_string(heads), many = std::to_string(heads * group);
    string query = tensor("?x" + many + "x" + length + row(), type),
           rows = tensor("?x" + few + "x" + length + row(), type),
           read = tensor("?x" + few + "x?" + row(), type),
           table = tensor("?x" + std::to_string(pairs), ElementType::f32),
           lengths = "tensor<?xi32>";
    bool isInt8 = cacheType == ElementType::i8;
    string stored = "?x" + few + "x" + storedRows;
    string cache = tensor(stored + row(), cacheType),
           scales = tensor(stored, ElementType::f32),
           writable = " {bufferization.writable = true}";
    auto cacheParameters = [&](const string &name) {
      return ", %" + name + ": " + cache + writable +
             (isInt8 ? ", %" + name + "_scales: " + scales + writable : "");
    };
    auto operands = [&](const string &first, const string &second) {
      return isInt8 ? first + ", " + second + " : " + cache + ", " + scales
                    : first + " : " + cache;
    };
    auto rotate = [&](const string &result, const string &input,
                      const string &like) {
      return result + "_init = tensor.empty(%b" +
             (length == "?" ? ", %s" : "") + ") : " + like + "\n" + result +
             " = attn.rope " + pairing + " ins(" + input +
             ", %cosine, %sine : " + like + ", " + table + ", " + table +
             ") outs(" + result + "_init : " + like + ") " + position + "\n";
    };
    auto store = [&](const string &name, const string &from) {
      string result = "%" + name + "_new";
      return result + (isInt8 ? ":2" : "") + " = attn.cache_append ins(" +
             from + " : " + rows + ") outs(" +
             operands("%" + name, "%" + name + "_scales") +
             ") lengths(%before : " + lengths + ")" + counts + cacheClauses +
             "\n%" + name + "_read = attn.cache_read ins(" +
             (isInt8 ? operands(result + "#0", result + "#1")
                     : operands(result, "")) +
             ") lengths(%after : " + lengths + ")" + cacheClauses +
             " size(%n) -> " + read + "\n";
    };
    string types = cache + (isInt8 ? ", " + scales : "");
    string results = query + ", " + types + ", " + types +
                     (isQueryUsedTwice ? ", " + query : "");
    string values =
        isInt8 ? "%k_new#0, %k_new#1, %v_new#0, %v_new#1" : "%k_new, %v_new";
    return "func.func @f(%query: " + query + ", %key: " + rows +
           ", %value: " + rows + ", %cosine: " + table + ", %sine: " + table +
           cacheParameters("k") + cacheParameters("v") +
           ", %before: " + lengths + ", %after: " + lengths + ", %n: index" +
           parameters + ") -> (" + results +
           ") {\n%c0 = arith.constant 0 : index\n"
           "%c2 = arith.constant 2 : index\n%b = tensor.dim %query, %c0 : " +
           query + "\n%s = tensor.dim %query, %c2 : " + query + "\n" +
           rotate("%q", "%query", query) + rotate("%r", "%key", rows) +
           store("k", "%r") + store("v", "%value") + "%init = tensor.empty(%b" +
           (length == "?" ? ", %s" : "") + ") : " + query +
           "\n%0 = attn.attention ins(%q, %k_read, %v_read : " + query + ", " +
           read + ", " + read + ") outs(%init : " + query + ") " + mask +
           "\nreturn %0, " + values + (isQueryUsedTwice ? ", %q" : "") + " : " +
           results + "\n}\n";
  }
};

TestTensor integersOf(const std::vector<Index> &values) {
  TestTensor result(ElementType::i32, {Index(values.size())});
  result.fill(
      [&](const Shape &i) { return double(values[std::size_t(i[0])]); });
  return result;
}

void runRandom(std::uint64_t seed) {
  Random random(seed);
  Kind kind = random.pick<Kind>({Kind::contiguous, Kind::ring, Kind::paged});
  StepText step;
  step.type = random.pick<ElementType>({ElementType::f32, ElementType::f32,
                                        ElementType::f16, ElementType::bf16});
  step.cacheType = step.type;
  if (random.chance(0.3))
    step.cacheType = random.chance(0.5)              ? ElementType::i8
                     : step.type == ElementType::f32 ? ElementType::bf16
                                                     : step.type;
  step.heads = random.between(1, 3);
  step.group = random.pick<Index>({1, 1, 3, 4});
  step.size = random.pick<Index>({64, 64, 32, 17, 80});
  step.pairs =
      random.chance(0.6) ? step.size / 2 : random.between(1, step.size / 2);
  step.pairing = random.pick<string>({"half_split", "interleaved"});
  step.isQueryUsedTwice = random.chance(0.1);
  Index batch = random.pick<Index>({0, 1, 2, 3, 3}),
        length = random.pick<Index>({1, 1, 1, 2, 4, 7, 40});
  if (random.chance(0.05))
    length = 0;
  step.length = length > 0 && random.chance(0.7) ? std::to_string(length) : "?";
  Index window = random.between(0, 30),
        rows = kind == Kind::paged ? random.pick<Index>({4, 16, 24})
                                   : window + length + random.between(1, 9);
  if (kind == Kind::contiguous)
    rows = 60 + length;
  step.storedRows =
      kind == Kind::paged && random.chance(0.7) ? std::to_string(rows) : "?";

  bool hasCounts = random.chance(0.4);
  std::vector<Index> before, after, counts;
  Index longest = 0;
  for (Index b = 0; b < batch; ++b) {
    before.push_back(random.between(0, kind == Kind::ring ? 90 : 60));
    counts.push_back(hasCounts ? random.between(0, length) : length);
    after.push_back(before.back() + counts.back());
    longest = std::max(longest, after.back());
  }
  Index maxPages = (longest + rows - 1) / std::max<Index>(rows, 1) + 1,
        entries = kind == Kind::paged ? batch * maxPages + 1 : batch,
        positions = 160;
  TestTensor table(ElementType::i32, {batch, maxPages});
  table.fill([&](const Shape &i) {
    return double(entries - 1 - (i[0] * maxPages + i[1]));
  });

  TestTensor query(step.type,
                   {batch, step.heads * step.group, length, step.size}),
      key(step.type, {batch, step.heads, length, step.size}),
      value(step.type, {batch, step.heads, length, step.size}),
      cosine(ElementType::f32, {positions, step.pairs}),
      sine(ElementType::f32, {positions, step.pairs}),
      rowPositions(ElementType::i64, {batch, length});
  for (TestTensor *tensor : {&query, &key, &value})
    tensor->fill([&] { return random.normal(); });
  // Quarter turns are exact, so that every lowering rounds to the same i8.
  bool isInt8 = step.cacheType == ElementType::i8;
  auto angle = [&](const Shape &i) {
    return double(i[0]) * std::pow(10000.0, -double(i[1]) / 8);
  };
  cosine.fill([&](const Shape &i) {
    return isInt8 ? double(i[0] % 2) : std::cos(angle(i));
  });
  sine.fill([&](const Shape &i) {
    return isInt8 ? double(1 - i[0] % 2) : std::sin(angle(i));
  });
  rowPositions.fill([&] { return double(random.between(0, positions - 1)); });

  std::vector<TestArgument> arguments = {query, key, value, cosine, sine};
  std::vector<TestTensor> caches;
  for (int i = 0; i < 2; ++i) {
    caches.emplace_back(step.cacheType,
                        Shape{entries, step.heads, rows, step.size});
    caches.back().fill([&] {
      return isInt8 ? double(random.between(-127, 127)) : random.normal();
    });
    if (isInt8) {
      caches.emplace_back(ElementType::f32, Shape{entries, step.heads, rows});
      caches.back().fill([] { return 0.02; });
    }
  }
  arguments.insert(arguments.end(), caches.begin(), caches.end());
  const TestTensor beforeTensor = integersOf(before),
                   afterTensor = integersOf(after),
                   countTensor = integersOf(counts);
  arguments.push_back(beforeTensor);
  arguments.push_back(afterTensor);
  arguments.push_back(longest + random.between(0, 3));
  if (kind == Kind::ring)
    step.cacheClauses = " ring";
  if (kind == Kind::paged) {
    step.cacheClauses = " table(%table : tensor<?x?xi32>)";
    step.parameters += ", %table: tensor<?x?xi32>";
    arguments.push_back(table);
  }
  if (hasCounts) {
    step.counts = " counts(%counts : tensor<?xi32>)";
    step.parameters += ", %counts: tensor<?xi32>";
    arguments.push_back(countTensor);
  }
  switch (random.between(0, 5)) {
  case 0:
    break;
  case 1:
    step.position = "offset(%p : index)";
    step.parameters += ", %p: index";
    arguments.push_back(random.between(0, positions - length));
    break;
  case 2:
    step.position = "positions(%p : tensor<?x?xi64>)";
    step.parameters += ", %p: tensor<?x?xi64>";
    arguments.push_back(rowPositions);
    break;
  default:
    step.position = "offset(%before : tensor<?xi32>)";
  }
  step.mask = "offset(%before : tensor<?xi32>) mask causal, "
              "key_padding(%after : tensor<?xi32>)";
  if (kind == Kind::ring)
    step.mask += ", sliding_window(" + std::to_string(window) + ", 0)";
  EXPECT_EQ(runEverywhere(step.write(), arguments).error, "");
}

TEST(RotatedRows, random) {
  for (std::uint64_t seed = 9300; seed < 9300 + unsigned(numCases(24));
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    runRandom(seed);
    if (testing::Test::HasFailure())
      return;
  }
}

} // namespace

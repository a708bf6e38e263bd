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

#include "test/Execution/CacheText.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// One step, of which `clauses` say where rows are and what is seen.
struct StepText {
  Index heads, group, size, pairs;
  string length;     ///< Of the new rows: a number, or "?".
  string storedRows; ///< The capacity, or the rows of a page.
  ElementType type, cacheType;
  CacheKind kind;
  string pairing, position, counts, mask, parameters;
  bool isQueryUsedTwice;

  CacheText cache(const string &name) const {
    return {.name = name,
            .kind = kind,
            .stored = cacheType,
            .heads = heads,
            .size = size,
            .rows = storedRows};
  }

  string write() const {
    string few = "?x" + std::to_string(heads),
           many = "?x" + std::to_string(heads * group),
           row = "x" + std::to_string(size);
    string query = tensorType(many + "x" + length + row, type),
           rows = tensorType(few + "x" + length + row, type),
           read = tensorType(few + "x?" + row, type),
           table = tensorType("?x" + std::to_string(pairs), ElementType::f32),
           lengths = "tensor<?xi32>",
           writable = " {bufferization.writable = true}";
    auto rotate = [&](const string &result, const string &input,
                      const string &like) {
      return result + "_init = tensor.empty(%b" +
             (length == "?" ? ", %s" : "") + ") : " + like + "\n" + result +
             " = attn.rope " + pairing + " ins(" + input +
             ", %cosine, %sine : " + like + ", " + table + ", " + table +
             ") outs(" + result + "_init : " + like + ") " + position + "\n";
    };
    auto store = [&](const CacheText &cache, const string &from) {
      return cache.append(from + " : " + rows,
                          "lengths(%before : " + lengths + ")" + counts) +
             cache.readUpdated(cache.name + "_read",
                               "lengths(%after : " + lengths + ")", read);
    };
    CacheText k = cache("%k"), v = cache("%v");
    string results = query + ", " + k.types() + ", " + v.types() +
                     (isQueryUsedTwice ? ", " + query : "");
    return "func.func @f(%query: " + query + ", %key: " + rows +
           ", %value: " + rows + ", %cosine: " + table + ", %sine: " + table +
           ", " + k.parameters(writable) + ", " + v.parameters(writable) +
           ", %before: " + lengths + ", %after: " + lengths + ", %n: index" +
           parameters + ") -> (" + results +
           ") {\n%c0 = arith.constant 0 : index\n"
           "%c2 = arith.constant 2 : index\n%b = tensor.dim %query, %c0 : " +
           query + "\n%s = tensor.dim %query, %c2 : " + query + "\n" +
           rotate("%q", "%query", query) + rotate("%r", "%key", rows) +
           store(k, "%r") + store(v, "%value") + "%init = tensor.empty(%b" +
           (length == "?" ? ", %s" : "") + ") : " + query +
           "\n%0 = attn.attention ins(%q, %k_read, %v_read : " + query + ", " +
           read + ", " + read + ") outs(%init : " + query + ") " + mask +
           "\nreturn %0, " + k.updated() + ", " + v.updated() +
           (isQueryUsedTwice ? ", %q" : "") + " : " + results + "\n}\n";
  }
};

void runRandom(Random &random) {
  CacheKind kind = random.pick(allCacheKinds);
  StepText step;
  step.kind = kind;
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
        rows = kind == CacheKind::paged
                   ? random.pick<Index>({4, 16, 24})
                   : window + length + random.between(1, 9);
  if (kind == CacheKind::contiguous)
    rows = 60 + length;
  step.storedRows = kind == CacheKind::paged && random.chance(0.7)
                        ? std::to_string(rows)
                        : "?";

  bool hasCounts = random.chance(0.4);
  std::vector<Index> before, after, counts;
  Index longest = 0;
  for (Index b = 0; b < batch; ++b) {
    before.push_back(random.between(0, kind == CacheKind::ring ? 90 : 60));
    counts.push_back(hasCounts ? random.between(0, length) : length);
    after.push_back(before.back() + counts.back());
    longest = std::max(longest, after.back());
  }
  Index maxPages = (longest + rows - 1) / std::max<Index>(rows, 1) + 1,
        entries = kind == CacheKind::paged ? batch * maxPages + 1 : batch,
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
  const TestTensor beforeTensor = i32Of(before), afterTensor = i32Of(after),
                   countTensor = i32Of(counts);
  arguments.push_back(beforeTensor);
  arguments.push_back(afterTensor);
  arguments.push_back(longest + random.between(0, 3));
  if (kind == CacheKind::paged) {
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
  if (kind == CacheKind::ring)
    step.mask += ", sliding_window(" + std::to_string(window) + ", 0)";
  EXPECT_EQ(runEverywhere(step.write(), arguments).error, "");
}

TEST(RotatedRows, random) { forSeeds(9300, numCases(24), runRandom); }

} // namespace

//===- CacheOpsTest.cpp - Caches, executed --------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Caches of every kind and element type, against the oracle.
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
#include <numeric>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// A cache, and what was stored in it.
struct TestCache {
  CacheKind kind;
  ElementType type, rowType;
  Index batch, heads, capacity, size; ///< Capacity, or the size of a page.
  TestTensor elements, scales, table;

  bool isInt8() const { return type == ElementType::i8; }
  CacheText text() const {
    return {.name = "%cache",
            .kind = kind,
            .stored = type,
            .heads = heads,
            .size = size};
  }
  /// Rows of which it can store any number.
  string rowsOf(ElementType element) const {
    return tensorType(
        "?x" + std::to_string(heads) + "x?x" + std::to_string(size), element);
  }
  std::vector<Argument> arguments() const {
    std::vector<Argument> result = {elements.view()};
    if (isInt8())
      result.push_back(scales.view());
    if (kind == CacheKind::paged)
      result.push_back(table.view());
    return result;
  }
};

/// A cache of `pages` pages, or of one entry for each sequence, filled with
/// what a new cache of a caller may hold. Tables list all pages, shuffled.
TestCache createCache(CacheKind kind, ElementType type, ElementType rowType,
                      Index batch, Index heads, Index capacity, Index size,
                      Index maxPages, Random &random, Layout layout = {}) {
  Index entries = kind == CacheKind::paged ? batch * maxPages + 1 : batch;
  TestCache cache{kind,
                  type,
                  rowType,
                  batch,
                  heads,
                  capacity,
                  size,
                  TestTensor(type, {entries, heads, capacity, size}, layout),
                  TestTensor(ElementType::f32, {entries, heads, capacity}),
                  TestTensor(ElementType::i32, {batch, maxPages})};
  cache.elements.fill([&] { return double(random.between(-100, 100)); });
  cache.scales.fill([&] { return 1.0; });
  std::vector<Index> pages(static_cast<std::size_t>(entries));
  std::iota(pages.begin(), pages.end(), 0);
  for (std::size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1],
              pages[std::size_t(random.between(0, Index(i) - 1))]);
  if (kind == CacheKind::paged)
    cache.table.fill([&](const Shape &index) {
      return double(pages[std::size_t(index[0] * maxPages + index[1])]);
    });
  return cache;
}

TestTensor integers(ElementType type, const std::vector<Index> &values) {
  TestTensor result(type, {Index(values.size())});
  result.fill([&](const Shape &index) {
    return double(values[std::size_t(index[0])]);
  });
  return result;
}

/// Appends, and reads again.
string writeAppendAndRead(const TestCache &cache, ElementType readType,
                          ElementType lengthType, bool hasCounts) {
  string lengths = "tensor<?x" + string(nameOf(lengthType)) + ">",
         rows = cache.rowsOf(cache.rowType), read = cache.rowsOf(readType);
  CacheText text = cache.text();
  string results = text.types() + ", " + read;
  return "func.func @f(%rows: " + rows + ", %lengths: " + lengths +
         ", %after: " + lengths + ", %n: index" +
         (hasCounts ? ", %counts: tensor<?xi32>" : "") + ", " +
         text.parameters() +
         (text.isPaged() ? ", %table: tensor<?x?xi32>" : "") + ") -> (" +
         results + ") {\n" +
         text.append(
             "%rows : " + rows,
             "lengths(%lengths : " + lengths + ")" +
                 (hasCounts ? " counts(%counts : tensor<?xi32>)" : "")) +
         text.readUpdated("%read", "lengths(%after : " + lengths + ")", read) +
         "return " + text.updated() + ", %read : " + results + "\n}\n";
}

std::vector<ElementType> widerThan(ElementType type) {
  switch (type) {
  case ElementType::f64:
    return {ElementType::f64};
  case ElementType::f32:
    return {ElementType::f32, ElementType::f64};
  case ElementType::f16:
  case ElementType::bf16:
    return {type, ElementType::f32};
  case ElementType::f8e4m3fn:
  case ElementType::f8e5m2:
    return {ElementType::f64, ElementType::f32, ElementType::f16,
            ElementType::bf16};
  default:
    return {ElementType::f32, ElementType::f16, ElementType::bf16};
  }
}

TEST(CacheOps, random) {
  int failed = 0, succeeded = 0;
  forSeeds(7200, numCases(80), [&](Random &random) {
    CacheKind kind = random.pick(allCacheKinds);
    ElementType type = random.pick<ElementType>(
        {ElementType::f64, ElementType::f32, ElementType::f16,
         ElementType::bf16, ElementType::i8, ElementType::f8e4m3fn,
         ElementType::f8e5m2});
    Index batch = random.between(0, 3), heads = random.between(1, 2),
          size = random.pick<Index>({1, 3, 8, 17}),
          capacity = random.between(kind == CacheKind::paged ? 1 : 0, 9),
          maxPages = random.between(0, 4), rows = random.between(0, 6);
    Layout layout;
    if (random.chance(0.5))
      layout.order = {0, 2, 1, 3};
    layout.rowPadding = random.between(0, 2);
    TestCache cache =
        createCache(kind, type, random.pick(widerThan(type)), batch, heads,
                    capacity, size, maxPages, random, layout);
    if (kind == CacheKind::paged && random.chance(0.3) && batch * maxPages > 0)
      cache.table.set(
          {random.between(0, batch - 1), random.between(0, maxPages - 1)},
          double(random.between(-2, batch * maxPages + 2)));

    // Mostly what fits.
    bool hasCounts = random.chance(0.5);
    Index room = kind == CacheKind::paged ? capacity * maxPages : capacity;
    std::vector<Index> lengths, counts, after;
    for (Index b = 0; b < batch; ++b) {
      Index count = hasCounts ? random.between(0, rows) : rows;
      if (hasCounts && random.chance(0.02))
        count = random.pick<Index>({-1, rows + 1});
      Index most =
          kind == CacheKind::ring ? 40 : std::max<Index>(room - count, 0);
      Index length = random.between(0, most);
      if (random.chance(0.04))
        length = random.pick<Index>({-1, room - count + 1, -100});
      lengths.push_back(length);
      counts.push_back(count);
      after.push_back(
          std::max<Index>(length + count - random.between(0, 1), 0));
    }
    ElementType lengthType =
        random.pick<ElementType>({ElementType::i32, ElementType::i64});
    TestTensor rowTensor(cache.rowType, {batch, heads, rows, size});
    bool isZero = random.chance(0.1);
    rowTensor.fill([&] { return isZero ? 0 : random.normal(); });
    TestTensor lengthTensor = integers(lengthType, lengths),
               afterTensor = integers(lengthType, after),
               countTensor = integers(ElementType::i32, counts);
    std::vector<TestArgument> arguments = {
        rowTensor.view(), lengthTensor.view(), afterTensor.view(),
        random.between(0, 12)};
    if (hasCounts)
      arguments.push_back(countTensor.view());
    for (const Argument &argument : cache.arguments())
      arguments.push_back(argument);
    string text = writeAppendAndRead(cache, random.pick(widerThan(type)),
                                     lengthType, hasCounts);
    // The checks of the read come before the append too.
    Results results = runEverywhere(text, arguments);
    ++(results.error.empty() ? succeeded : failed);
  });
  if (getOnlySeed())
    return;
  // Neither is rare.
  EXPECT_GT(failed, numCases(80) / 8);
  EXPECT_GT(succeeded, numCases(80) * 3 / 4);
}

} // namespace

//===- PagedCacheTest.cpp - Keys and values in pages ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/PagedCacheTesting.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

using namespace attn;
using namespace attn::test;

namespace {

std::vector<std::int64_t> toVector(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_F(PagedCacheTest, Views) {
  using Sizes = std::vector<std::int64_t>;
  std::vector<std::pair<std::byte *, std::byte *>> ranges;
  for (std::int64_t layer : {0, 1})
    for (const auto &[view, type, sizes] :
         {std::tuple(cache.keys(layer), ElementType::i8, Sizes{10, 3, 4, 5}),
          std::tuple(cache.values(layer), ElementType::i8, Sizes{10, 3, 4, 7}),
          std::tuple(cache.keyScales(layer), ElementType::f32, Sizes{10, 3, 4}),
          std::tuple(cache.valueScales(layer), ElementType::f32,
                     Sizes{10, 3, 4})}) {
      EXPECT_EQ(view.type(), type);
      EXPECT_EQ(toVector(view.sizes()), sizes);
      EXPECT_FALSE(view.readOnly());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 64, 0U);
      auto *begin = static_cast<std::byte *>(view.data());
      std::byte *end =
          begin + view.size(0) * view.stride(0) * std::int64_t(sizeOf(type));
      EXPECT_TRUE(std::all_of(begin, end,
                              [](std::byte b) { return b == std::byte(0); }));
      ranges.emplace_back(begin, end);
    }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    EXPECT_LE(ranges[i - 1].second, ranges[i].first);
}

TEST_F(PagedCacheTest, MovingLeavesItUsable) {
  // NOLINTBEGIN(bugprone-use-after-move,performance-move-const-arg)
  PagedCache other = std::move(cache);
  EXPECT_TRUE(cache.createSequence().ok());
  EXPECT_EQ(cache.keys(0).data(), other.keys(0).data());
  // NOLINTEND(bugprone-use-after-move,performance-move-const-arg)
}

TEST_F(PagedCacheTest, NoSuchView) {
  for (std::int64_t layer : {std::int64_t(-1), std::int64_t(2), huge, -huge})
    for (const TensorView &view :
         {cache.keys(layer), cache.values(layer), cache.keyScales(layer),
          cache.valueScales(layer)})
      EXPECT_EQ(view.rank(), -1);
  for (ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    Expected<PagedCache> other =
        PagedCache::create({.pages = 1, .headSize = 8, .type = type});
    ASSERT_EQ(errorOf(other), "");
    EXPECT_EQ(other->keys().type(), type);
    EXPECT_EQ(toVector(other->values().sizes()),
              (std::vector<std::int64_t>{1, 1, 16, 8}));
    EXPECT_EQ(other->keyScales().rank(), -1);
    EXPECT_EQ(other->valueScales().rank(), -1);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST_F(PagedCacheTest, ContinuousBatching) {
  SequenceId empty = create(), four = create({1, 2, 3, 4}), five = create(),
             nothing = create();
  append(cache, five, {5, 6, 7, 8, 9});
  Expected<CacheStep> step =
      cache.append({five, empty, nothing, four}, {1, 2, 0, 6});
  ASSERT_EQ(errorOf(step), "");
  EXPECT_EQ(toVector(step->table().sizes()), (std::vector<std::int64_t>{4, 3}));
  for (const TensorView &view :
       {step->table(), step->lengths(), step->counts(), step->newLengths()}) {
    EXPECT_EQ(view.type(), ElementType::i32);
    EXPECT_TRUE(view.readOnly());
    EXPECT_EQ(view.size(0), 4);
  }
  std::int32_t expected[][3] = {{5, 1, 6}, {0, 2, 2}, {0, 0, 0}, {4, 6, 10}};
  std::vector<std::int32_t> pages;
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(at(step->lengths(), row), expected[row][0]);
    EXPECT_EQ(at(step->counts(), row), expected[row][1]);
    EXPECT_EQ(at(step->newLengths(), row), expected[row][2]);
    for (std::int64_t column = 0; column < 3; ++column) {
      std::int32_t page = at(step->table(), row, column);
      if (column * 4 < expected[row][2])
        pages.push_back(page);
      else
        EXPECT_EQ(page, -1);
    }
  }
  std::sort(pages.begin(), pages.end());
  EXPECT_EQ(std::unique(pages.begin(), pages.end()), pages.end());
  EXPECT_TRUE(pages.front() >= 0 && pages.back() < 10);
  EXPECT_EQ(usedPages(), 6);

  writeNew(cache, *step, 0, {10});
  writeNew(cache, *step, 1, {11, 12});
  writeNew(cache, *step, 3, {13, 14, 15, 16, 17, 18});
  EXPECT_EQ(*cache.length(four), 4);
  step->commit();
  EXPECT_EQ(*cache.length(four), 10);
  EXPECT_TRUE(holds(cache, five, {5, 6, 7, 8, 9, 10}));
  EXPECT_TRUE(holds(cache, empty, {11, 12}));
  EXPECT_TRUE(holds(cache, nothing, {}));
  EXPECT_TRUE(holds(cache, four, {1, 2, 3, 4, 13, 14, 15, 16, 17, 18}));
  EXPECT_EQ(usedPages(), 6);
}

TEST_F(PagedCacheTest, EmptyBatch) {
  Expected<CacheStep> step = cache.append(Ids(), Counts());
  ASSERT_EQ(errorOf(step), "");
  EXPECT_EQ(toVector(step->table().sizes()), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(toVector(step->lengths().sizes()), std::vector<std::int64_t>{0});
  step->commit();
  EXPECT_EQ(usedPages(), 0);
}

TEST_F(PagedCacheTest, WithoutCommitNothingChanges) {
  SequenceId parent = create({1, 2, 3}), child = *cache.fork(parent);
  {
    Expected<CacheStep> step = cache.append({parent, child}, {4, 9});
    ASSERT_EQ(errorOf(step), "");
    writeNew(cache, *step, 0, {90, 91, 92, 93});
    EXPECT_EQ(usedPages(), 1 + 2 + 3);
  }
  EXPECT_EQ(usedPages(), 1);
  EXPECT_TRUE(holds(cache, parent, {1, 2, 3}));
  EXPECT_TRUE(holds(cache, child, {1, 2, 3}));
}

TEST_F(PagedCacheTest, EmptySteps) {
  SequenceId sequence = create({1});
  Expected<CacheStep> first = cache.append({sequence}, {1});
  ASSERT_EQ(errorOf(first), "");
  CacheStep second = *std::move(first);
  auto expectEmpty = [](const CacheStep &step) {
    for (const TensorView &view :
         {step.table(), step.lengths(), step.counts(), step.newLengths()})
      EXPECT_EQ(view.rank(), -1);
  };
  expectEmpty(*first); // NOLINT(bugprone-use-after-move)
  first->commit();
  EXPECT_EQ(*cache.length(sequence), 1);
  second = std::move(*&second);
  writeNew(cache, second, 0, {2});
  second.commit();
  expectEmpty(second);
  second.commit();
  EXPECT_TRUE(holds(cache, sequence, {1, 2}));

  // Assigning to a step ends it.
  second = *cache.append({sequence}, {7});
  EXPECT_EQ(usedPages(), 3);
  second = *cache.append({create()}, {1});
  EXPECT_EQ(usedPages(), 2);
  EXPECT_EQ(errorOf(cache.append({sequence}, {1})), "");
}

TEST_F(PagedCacheTest, StepsOutliveTheCache) {
  std::optional<PagedCache> other = *PagedCache::create(makeOptions(1));
  CacheStep step = *other->append({*other->createSequence()}, {1});
  Place place = placeOf(*other, step, 0, 0);
  writeToken(*other, place, 1);
  TensorView keys = other->keys();
  other.reset();
  EXPECT_EQ(at(step.table(), 0, 0), place.page);
  EXPECT_EQ(static_cast<std::byte *>(keys.data())[0], byteOf(1, 1, 0));
  step.commit();
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

TEST_F(PagedCacheTest, ForksShareUntilTheyAppend) {
  SequenceId parent = create({1, 2, 3, 4, 5, 6});
  SequenceId whole = *cache.fork(parent), five = *cache.fork(parent, 5),
             four = *cache.fork(parent, 4), none = *cache.fork(parent, 0);
  EXPECT_EQ(usedPages(), 2);
  EXPECT_TRUE(holds(cache, whole, {1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(holds(cache, five, {1, 2, 3, 4, 5}));
  EXPECT_TRUE(holds(cache, four, {1, 2, 3, 4}));
  EXPECT_TRUE(holds(cache, none, {}));

  append(cache, four, {40}); // Its pages are full: nothing to copy.
  EXPECT_EQ(usedPages(), 3);
  append(cache, five, {50});
  EXPECT_EQ(usedPages(), 4);
  append(cache, parent, {60, 61, 62});
  EXPECT_EQ(usedPages(), 6);
  append(cache, whole, {70}); // Nobody else has its last page any more.
  EXPECT_EQ(usedPages(), 6);
  append(cache, none, {80});
  EXPECT_TRUE(holds(cache, parent, {1, 2, 3, 4, 5, 6, 60, 61, 62}));
  EXPECT_TRUE(holds(cache, whole, {1, 2, 3, 4, 5, 6, 70}));
  EXPECT_TRUE(holds(cache, five, {1, 2, 3, 4, 5, 50}));
  EXPECT_TRUE(holds(cache, four, {1, 2, 3, 4, 40}));
  EXPECT_TRUE(holds(cache, none, {80}));

  EXPECT_EQ(errorOf(cache.free(parent)), "");
  EXPECT_EQ(usedPages(), 5);
  EXPECT_TRUE(holds(cache, five, {1, 2, 3, 4, 5, 50}));
  for (SequenceId sequence : {whole, five, four, none})
    EXPECT_EQ(errorOf(cache.free(sequence)), "");
  EXPECT_EQ(usedPages(), 0);
}

TEST_F(PagedCacheTest, ForksAppendTogether) {
  SequenceId parent = create({1, 2, 3});
  Ids all = {parent, *cache.fork(parent), *cache.fork(parent)};
  CacheStep step = *cache.append(all, Counts{1, 1, 1});
  for (std::size_t row = 0; row < 3; ++row)
    writeNew(cache, step, row, {Token(10 + row)});
  step.commit();
  EXPECT_EQ(usedPages(), 3);
  for (Token row = 0; row < 3; ++row)
    EXPECT_TRUE(holds(cache, all[row], {1, 2, 3, 10 + row}));
}

TEST_F(PagedCacheTest, Truncate) {
  SequenceId sequence = create({1, 2, 3, 4, 5, 6, 7, 8, 9});
  SequenceId child = *cache.fork(sequence);
  EXPECT_EQ(errorOf(cache.truncate(sequence, 9)), "");
  EXPECT_EQ(errorOf(cache.truncate(sequence, 6)), "");
  EXPECT_TRUE(holds(cache, sequence, {1, 2, 3, 4, 5, 6}));
  append(cache, sequence, {60});
  EXPECT_EQ(usedPages(), 4); // Page 1 was the child's too.
  EXPECT_TRUE(holds(cache, sequence, {1, 2, 3, 4, 5, 6, 60}));
  EXPECT_TRUE(holds(cache, child, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(errorOf(cache.truncate(child, 4)), "");
  EXPECT_EQ(usedPages(), 2);
  EXPECT_EQ(errorOf(cache.truncate(child, 0)), "");
  EXPECT_EQ(errorOf(cache.truncate(sequence, 0)), "");
  EXPECT_EQ(usedPages(), 0);

  EXPECT_EQ(errorOf(cache.truncate(child, 1)),
            "argument 'length': expected 0 to 0, the tokens of the sequence, "
            "got 1");
  append(cache, child, {1, 2, 3});
  EXPECT_EQ(errorOf(cache.truncate(child, -1)),
            "argument 'length': expected 0 to 3, the tokens of the sequence, "
            "got -1");
  EXPECT_EQ(errorOf(cache.fork(child, 4)),
            "argument 'length': expected 0 to 3, the tokens of the sequence, "
            "got 4");
  EXPECT_EQ(errorOf(cache.fork(child, -huge)),
            "argument 'length': expected 0 to 3, the tokens of the sequence, "
            "got -9223372036854775807");
  EXPECT_TRUE(holds(cache, child, {1, 2, 3}));
}

TEST_F(PagedCacheTest, EvictToMakeRoom) {
  SequenceId victim = create({6, 7, 8}), other = create();
  auto room = std::size_t(cache.freePages() * cache.options().pageSize);
  Tokens tokens(room, 9);
  append(cache, other, tokens);
  EXPECT_NE(errorOf(cache.append({other}, {1})), "");
  EXPECT_EQ(errorOf(cache.truncate(victim, 0)), "");
  append(cache, other, {10});
  tokens.push_back(10);
  EXPECT_TRUE(holds(cache, other, tokens));
  // It comes back under its number, when there is room.
  EXPECT_NE(errorOf(cache.append({victim}, {3})), "");
  EXPECT_EQ(errorOf(cache.free(other)), "");
  append(cache, victim, {6, 7, 8});
  EXPECT_TRUE(holds(cache, victim, {6, 7, 8}));
}

} // namespace

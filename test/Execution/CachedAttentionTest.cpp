//===- CachedAttentionTest.cpp - Attention on a cache that C++ describes --===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/cached_attention.h"
#include "attn/paged_cache.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

TestTensor draw(ElementType type, const Shape &shape, unsigned seed) {
  TestTensor result(type, shape);
  Random random(seed);
  result.fill([&] {
    return type == ElementType::i8 ? double(random.between(-9, 9))
                                   : 0.5 * random.normal();
  });
  return result;
}

/// Runs a step on tensors of these shapes, and what comes after them.
Results runStep(const CachedAttention &step, const std::vector<Shape> &shapes,
                const std::vector<TestArgument> &others) {
  Expected<string> text = step.text();
  EXPECT_TRUE(text) << text.error().message;
  auto kernel = getEngine().compile(*text);
  EXPECT_TRUE(kernel) << kernel.error().message << "\n" << *text;
  if (!kernel)
    return {};
  std::vector<TestTensor> tensors;
  std::vector<TestArgument> arguments;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    ElementType type = kernel->signature().arguments[i].type;
    tensors.push_back(draw(type, shapes[i], unsigned(40 + i)));
    arguments.emplace_back(tensors.back());
  }
  arguments.insert(arguments.end(), others.begin(), others.end());
  return runEverywhere(*text, arguments);
}

TEST(CachedAttention, contiguous) {
  CachedAttention step{.attention = {.queryHeads = 4,
                                     .keyValueHeads = 2,
                                     .headSize = 8,
                                     .valueHeadSize = 5,
                                     .score = softcap(4.0),
                                     .mask = causal()}};
  for (std::int64_t queries : {1, 3}) {
    Results results = runStep(step,
                              {{2, 4, queries, 8},
                               {2, 2, queries, 8},
                               {2, 2, queries, 5},
                               {2, 2, 9, 8},
                               {2, 2, 9, 5}},
                              {i32({2, 6})});
    EXPECT_EQ(results.error, "");
    ASSERT_EQ(results.tensors.size(), 3u);
  }
}

/// Every query sees all that is stored, and gives its log-sum-exp.
TEST(CachedAttention, without_a_mask) {
  Tensor<float, 1> logits("logits", 2);
  Scalar<float> scale("factor");
  CachedAttention step{.attention = {.queryHeads = 2,
                                     .headSize = 8,
                                     .batch = 2,
                                     .queryLength = 2,
                                     .scale = scale,
                                     .sink = logits,
                                     .logSumExp = true},
                       .cache = {.type = ElementType::bf16}};
  Results results = runStep(
      step,
      {{2, 2, 2, 8}, {2, 2, 2, 8}, {2, 2, 2, 8}, {2, 2, 7, 8}, {2, 2, 7, 8}},
      {i32({0, 5}), 0.3, TestTensor(ElementType::f32, {2}, {0.5, -1.0})});
  EXPECT_EQ(results.error, "");
  EXPECT_EQ(results.tensors.size(), 4u);
}

TEST(CachedAttention, pages_of_i8_with_counts) {
  CachedAttention step{
      .attention = {.queryHeads = 4,
                    .keyValueHeads = 2,
                    .headSize = 8,
                    .queryLength = 3,
                    .mask = causal()},
      .cache = {.type = ElementType::i8, .pageSize = 4, .hasCounts = true}};
  Results results =
      runStep(step,
              {{2, 4, 3, 8},
               {2, 2, 3, 8},
               {2, 2, 3, 8},
               {5, 2, 4, 8},
               {5, 2, 4, 8},
               {5, 2, 4},
               {5, 2, 4}},
              {i32({3, 0}), i32({3, 3}),
               TestTensor(ElementType::i32, {2, 2}, {4, 1, 2, 0})});
  EXPECT_EQ(results.error, "");
}

TEST(CachedAttention, ring_with_positions_in_the_score) {
  Tensor<float, 1> slopes("slopes", 2);
  CachedAttention step{.attention = {.type = ElementType::f16,
                                     .queryHeads = 2,
                                     .headSize = 8,
                                     .score = alibi(slopes),
                                     .mask = causal() && slidingWindow(2, 0)},
                       .cache = {.isRing = true}};
  Results results = runStep(
      step,
      {{2, 2, 2, 8}, {2, 2, 2, 8}, {2, 2, 2, 8}, {2, 2, 5, 8}, {2, 2, 5, 8}},
      {i32({9, 1}), std::int64_t(11),
       TestTensor(ElementType::f32, {2}, {0.5, 0.25})});
  EXPECT_EQ(results.error, "");
}

/// Rows of a mask belong to the queries of the call.
TEST(CachedAttention, mask_of_rows) {
  Tensor<bool, 4> allowed("allowed", dynamic, 1, dynamic, dynamic);
  CachedAttention step{.attention = {.queryHeads = 2,
                                     .headSize = 8,
                                     .queryLength = 2,
                                     .mask = boolean(rows(allowed))}};
  TestTensor keep(ElementType::i1, {2, 1, 2, 7});
  keep.fill([](const Shape &at) { return double((at[3] + at[2]) % 3 != 1); });
  Results results = runStep(
      step,
      {{2, 2, 2, 8}, {2, 2, 2, 8}, {2, 2, 2, 8}, {2, 2, 7, 8}, {2, 2, 7, 8}},
      {i32({2, 5}), keep});
  EXPECT_EQ(results.error, "");
}

/// A prompt, a token, nothing and a few tokens, in one call.
TEST(CachedAttention, packed) {
  for (LayerCache cache : {LayerCache{}, LayerCache{.pageSize = 4}}) {
    Tensor<float, 1> slopes("slopes", 4);
    CachedAttention step{.attention = {.queryHeads = 4,
                                       .keyValueHeads = 2,
                                       .headSize = 8,
                                       .score = alibi(slopes),
                                       .mask = causal()},
                         .cache = cache,
                         .isPacked = true};
    Shape stored = {4, 2, 12, 8};
    TestTensor lengths = i32({0, 11, 3, 4}), sequences = i32({0, 5, 6, 6, 9}),
               table(ElementType::i32, {4, 3},
                     {4, 1, -1, 2, 0, 3, 7, -1, -1, 8, 6, -1}),
               steep(ElementType::f32, {4}, {0.5, 0.25, 0.1, 0.01});
    std::vector<TestArgument> others = {lengths, sequences};
    if (cache.pageSize) {
      stored = {9, 2, 4, 8};
      others.emplace_back(table);
    }
    others.emplace_back(steep);
    Results results = runStep(
        step, {{1, 4, 9, 8}, {1, 2, 9, 8}, {1, 2, 9, 8}, stored, stored},
        others);
    EXPECT_EQ(results.error, "");
  }
}

/// Not causal, so what is not stored is hidden.
TEST(CachedAttention, packed_without_a_mask) {
  CachedAttention step{.attention = {.queryHeads = 2,
                                     .headSize = 8,
                                     .batch = 2,
                                     .queryLength = 4,
                                     .logSumExp = true},
                       .cache = {.type = ElementType::i8},
                       .isPacked = true};
  Results results = runStep(step,
                            {{1, 2, 4, 8},
                             {1, 2, 4, 8},
                             {1, 2, 4, 8},
                             {2, 2, 7, 8},
                             {2, 2, 7, 8},
                             {2, 2, 7},
                             {2, 2, 7}},
                            {i32({3, 0}), i32({0, 1, 4})});
  EXPECT_EQ(results.error, "");
}

/// Two sequences on attn::PagedCache give, step by step, what one call without
/// a cache gives for all their tokens.
TEST(CachedAttention, on_a_paged_cache) {
  constexpr std::int64_t tokens = 9, size = 8;
  auto draw32 = [](std::int64_t heads, unsigned seed) {
    return draw(ElementType::f32, {2, heads, tokens, size}, seed);
  };
  TestTensor query = draw32(4, 1), key = draw32(2, 2), value = draw32(2, 3),
             expected(ElementType::f32, {2, 4, tokens, size});
  Attention attention{
      .queryHeads = 4, .keyValueHeads = 2, .headSize = size, .mask = causal()};
  auto all = getEngine().compile(attention);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_TRUE(all->run({query.view(), key.view(), value.view()},
                       {expected.mutableView()}));

  auto cache = PagedCache::create(
      {.pages = 6, .pageSize = 4, .keyValueHeads = 2, .headSize = size});
  ASSERT_TRUE(cache);
  auto first = cache->createSequence(), second = cache->createSequence();
  CachedAttention step{.attention = attention, .cache = {.pageSize = 4}};
  auto kernel = getEngine().compile(*step.text());
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::int64_t begin = 0;
  for (std::int64_t count : {5, 1, 3}) {
    auto slice = [&](const TestTensor &tensor) {
      TestTensor rows(ElementType::f32, {2, tensor.size(1), count, size});
      rows.fill([&](const Shape &at) {
        return *tensor.get({at[0], at[1], at[2] + begin, at[3]});
      });
      return rows;
    };
    auto pages = cache->append({*first, *second}, {count, count});
    ASSERT_TRUE(pages) << pages.error().message;
    TestTensor q = slice(query), k = slice(key), v = slice(value),
               output(ElementType::f32, {2, 4, count, size});
    Status status =
        kernel->run({q.view(), k.view(), v.view(), cache->keys(),
                     cache->values(), pages->lengths(), pages->table()},
                    {output.mutableView(), cache->keys(), cache->values()});
    ASSERT_TRUE(status) << status.error().message;
    pages->commit();
    expectNear(output.elements(), slice(expected).elements(), 1e-5);
    begin += count;
  }
}

/// A cache that is too small is an error before anything is written.
TEST(CachedAttention, that_does_not_fit) {
  CachedAttention step{
      .attention = {
          .queryHeads = 2, .headSize = 8, .queryLength = 3, .mask = causal()}};
  Results results = runStep(
      step,
      {{1, 2, 3, 8}, {1, 2, 3, 8}, {1, 2, 3, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
      {i32({2})});
  EXPECT_NE(
      results.error.find("sequence 0 has 2 rows and would get 3 more, of at "
                         "most 4"),
      string::npos)
      << results.error;
}

TEST(CachedAttention, says_which_member_is_wrong) {
  auto message = [](const CachedAttention &step) {
    Expected<string> text = step.text();
    return text ? string() : text.error().message;
  };
  EXPECT_EQ(message({.attention = {.keyLength = 7}}),
            "attention.keyLength: expected dynamic with a cache, got 7");
  EXPECT_EQ(message({.attention = {.offset = 3}}),
            "attention.offset: expected none with a cache, got one");
  Tensor<std::int32_t, 1> starts("starts");
  EXPECT_EQ(message({.attention = {.sequences = Sequences{starts, starts}}}),
            "attention.sequences: expected none with a cache, got one");
  EXPECT_EQ(message({.cache = {.type = ElementType::i32}}),
            "cache.type: expected f32, a narrower float or i8, got i32");
  EXPECT_EQ(message({.cache = {.isRing = true, .pageSize = 8}}),
            "cache.isRing: expected false with pages, got true");
  EXPECT_EQ(message({.cache = {.hasCounts = true}, .isPacked = true}),
            "cache.hasCounts: expected false with packed queries, got true");
  EXPECT_EQ(message({.attention = {.headSize = 0}}),
            "headSize: expected 1 to 4096, got 0");
  for (const char *name : {"key_cache", "lengths", "table"}) {
    Tensor<std::int32_t, 1> padding(name);
    EXPECT_EQ(message({.attention = {.mask = keyPadding(padding)},
                       .cache = {.pageSize = 4}}),
              "argument '" + string(name) +
                  "': expected a name that is not one of the kernel's own "
                  "arguments");
  }
}

} // namespace

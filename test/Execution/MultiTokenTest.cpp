//===- MultiTokenTest.cpp - attn.multi_token_attention, executed ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/MultiTokenTesting.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

TEST(MultiToken, t2_t4_convolution_by_hand) {
  // Scores are key j's number for every query; one head, no mask. The kernel
  // picks the key before, of the query before.
  MultiTokenText text;
  text.stages = {{"convolve_before", {1, 2, 3}}};
  text.clauses = "";
  TestTensor kernel = f64({1, 2, 3}, {1, 0, 0, 0, 0, 0});
  TestTensor query = f64({1, 1, 2, 1}, {1, 2}), key = f64({1, 1, 2, 1}, {1, 3}),
             value = f64({1, 1, 2, 1}, {1, 0});
  auto results = runEverywhere(text.write(), {query, key, value, kernel});
  // Row 0 sees no row before: scores 0, 0. Row 1: (0, 1 * 1).
  expectNear(results.tensors[0].elements(), {0.5, 1 / (1 + std::exp(1))});
  expectNear(results.tensors[1].elements(),
             {std::log(2), std::log(1 + std::exp(1))});
  text.past = 1;
  results = runEverywhere(text.write(), {query, key, value, kernel});
  expectNear(results.tensors[0].elements(), {1 / (1 + std::exp(1))});
}

TEST(MultiToken, t3_mixing_by_hand) {
  // Head 1 gets what head 0 has, and head 0 the sum of both.
  MultiTokenText text{.queryHeads = 2, .keyValueHeads = 2};
  text.stages = {{"mix_after", {1, 2, 2}}};
  TestTensor weights = f64({1, 2, 2}, {1, 1, 1, 0});
  TestTensor query = f64({1, 2, 1, 1}, 0), key = f64({1, 2, 2, 1}, 0),
             value = f64({1, 2, 2, 1}, {1, 2, 10, 20});
  auto results = runEverywhere(text.write(), {query, key, value, weights});
  expectNear(results.tensors[0].elements(), {3, 15});
}

TEST(MultiToken, t2_more_rows_than_queries) {
  MultiTokenText text;
  text.past = -1;
  TestTensor one = f64({1, 1, 2, 1}, 1);
  EXPECT_NE(runEverywhere(text.write(), {one, one, one}).error.find("output"),
            string::npos);
}

TEST(MultiToken, t5_t8_nan) {
  double nan = quietNaN;
  MultiTokenText text;
  text.clauses = "mask causal";
  for (const char *keyword : {"convolve_before", "convolve_after"}) {
    text.stages = {{keyword, {1, 2, 3}}};
    TestTensor zeros = f64({1, 1, 3, 1}, 0), ones = f64({1, 1, 3, 1}, 1);
    // A NaN in the kernel reaches every row, which sees at least one key.
    TestTensor kernel = f64({1, 2, 3}, {nan, 1, 1, 1, 1, 1});
    Results results = runEverywhere(text.write(), {zeros, zeros, ones, kernel});
    for (double element : results.tensors[0].elements())
      EXPECT_TRUE(std::isnan(element));
    // One in the last key does not reach the rows that do not see it.
    kernel = f64({1, 2, 3}, {1, 1, 1, 1, 1, 1});
    TestTensor key = f64({1, 1, 3, 1}, {0, 0, nan});
    results = runEverywhere(text.write(), {zeros, key, key, kernel});
    std::vector<double> output = results.tensors[0].elements();
    EXPECT_FALSE(std::isnan(output[0]) || std::isnan(output[1]));
    EXPECT_TRUE(std::isnan(output[2]));
  }
}

TEST(MultiToken, t5_nothing_of_the_future) {
  std::uint64_t seed = 8100;
  for (const string &placement : placements) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
    Random random(seed++);
    MultiTokenText text{.type = ElementType::f32,
                        .queryHeads = 2,
                        .keyValueHeads = 1,
                        .keySize = 8,
                        .valueSize = 8,
                        .stages = createStages(placement, 2, random),
                        .stageType = ElementType::f32,
                        .clauses = seed % 2 == 0
                                       ? "mask causal"
                                       : "score softcap(2.0) mask causal"};
    Index length = 70, seen = random.between(1, length - 1);
    std::vector<TestTensor> tensors;
    for (Index heads : {2, 1, 1}) {
      tensors.emplace_back(ElementType::f32, Shape{1, heads, length, 8});
      tensors.back().fill([&] { return random.normal(); });
    }
    for (const Stage &stage : text.stages)
      tensors.push_back(createStage(stage, ElementType::f32, random));
    auto getRows = [&] {
      std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
      auto results = runOnThreads(2, text.write(), arguments);
      std::vector<float> result;
      for (auto [number, size] : {std::pair(0, 8), std::pair(1, 1)}) {
        const std::vector<std::byte> &bytes = results[std::size_t(number)];
        std::vector<float> elements(bytes.size() / sizeof(float));
        std::memcpy(elements.data(), bytes.data(),
                    elements.size() * sizeof(float));
        for (Index h = 0; h < 2; ++h)
          result.insert(result.end(), elements.begin() + h * length * size,
                        elements.begin() + (h * length + seen) * size);
      }
      return result;
    };
    std::vector<float> before = getRows();
    for (std::size_t operand = 0; operand < 3; ++operand)
      for (Index h = 0; h < tensors[operand].size(1); ++h)
        for (Index i = seen; i < length; ++i)
          for (Index d = 0; d < 8; ++d)
            tensors[operand].set({0, h, i, d}, random.chance(0.1)
                                                   ? quietNaN
                                                   : 100 * random.normal());
    std::vector<float> after = getRows();
    ASSERT_EQ(before.size(), after.size());
    EXPECT_EQ(
        std::memcmp(before.data(), after.data(), before.size() * sizeof(float)),
        0);
  }
}

/// Of more keys than a panel has: chunks that pass scores on to each other, and
/// whose weights are stored. Some rows see no key, some only such of the last
/// chunk.
TEST(MultiToken, many_keys) {
  struct Case {
    string placement;
    Index heads, keys;
    bool isStatic;
    string clauses;
  };
  std::uint64_t seed = 8300;
  for (const Case &c : std::initializer_list<Case>{
           {"k", 2, 1100, false, " mask causal"},
           {"k", 1, 1050, true, " mask sliding_window(700, 0)"},
           {"x", 2, 530, false, ""},
           {"km", 2, 1090, false, " score softcap(5.0) mask causal"},
           {"m", 6, 600, true, " mask causal"},
           {"M", 16, 1100, true,
            " score softcap(5.0) mask sliding_window(700, 0)"},
           {"mM", 3, 600, false, ""},
           {"kM", 2, 1090, false, " mask causal"}}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + c.placement + ", " +
                 std::to_string(c.keys));
    Random random(seed++);
    MultiTokenText text{.type = ElementType::f32,
                        .queryHeads = c.heads,
                        .keyValueHeads = 1,
                        .keySize = 5,
                        .valueSize = 3,
                        .stageType = ElementType::f32,
                        .clauses = c.clauses};
    for (char letter : c.placement)
      if (letter == 'm' || letter == 'M')
        text.stages.push_back({letter == 'm' ? "mix_before" : "mix_after",
                               {1, c.heads, c.heads}});
      else
        text.stages.push_back(
            createStages(string(1, letter), c.heads, random)[0]);
    text.keys = c.isStatic ? c.keys : 0;
    // Two tiles of rows, of positions from before the first key on.
    Index queries = 70;
    text.offset = "offset(%offset : index) sink(%sink : tensor<" +
                  std::to_string(c.heads) + "xf32>)";
    text.parameters =
        ", %offset: index, %sink: tensor<" + std::to_string(c.heads) + "xf32>";
    for (Index offset : {Index(-10), c.keys - queries}) {
      std::vector<TestTensor> tensors;
      for (auto [heads, length, size] :
           {std::tuple(c.heads, queries, 5), std::tuple(Index(1), c.keys, 5),
            std::tuple(Index(1), c.keys, 3)}) {
        tensors.emplace_back(text.type, Shape{1, heads, length, size});
        tensors.back().fill([&] { return random.normal(); });
      }
      for (const Stage &stage : text.stages)
        tensors.push_back(createStage(stage, text.stageType, random));
      std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
      arguments.push_back(offset);
      TestTensor sink = normal(text.type, {c.heads}, seed);
      arguments.push_back(sink);
      EXPECT_EQ(runEverywhere(text.write(), arguments).error, "");
    }
  }
}

/// Outputs of fewer rows than a tile of many have forms of their own.
TEST(MultiToken, forms_for_few_rows) {
  MultiTokenText text{.type = ElementType::f32,
                      .queryHeads = 2,
                      .keyValueHeads = 1,
                      .keySize = 16,
                      .valueSize = 16,
                      .stageType = ElementType::f32,
                      .clauses = " mask causal"};
  Random random(8500);
  text.stages = createStages("km", 2, random);
  text.offset = "offset(bottom_right)";
  for (Index rows : {0, 1, 2, 6, 7, 24, 25, 61}) {
    SCOPED_TRACE(rows);
    std::vector<TestTensor> tensors;
    for (auto [heads, length] :
         {std::pair<Index, Index>(2, rows), {1, 80}, {1, 80}}) {
      tensors.emplace_back(text.type, Shape{1, heads, length, 16});
      tensors.back().fill([&] { return random.normal(); });
    }
    for (const Stage &stage : text.stages)
      tensors.push_back(createStage(stage, text.stageType, random));
    EXPECT_EQ(
        runEverywhere(text.write(), {tensors.begin(), tensors.end()}).error,
        "");
  }
}

#if ATTN_GPU
/// Element by element, as for a GPU, which has no f64.
TEST(MultiToken, on_the_emulator) {
  forSeeds(8400, numCases(16), [](std::uint64_t seed) {
    MultiTokenSample sample = createMultiTokenSample(seed);
    if (sample.text.type == ElementType::f64)
      return;
    SCOPED_TRACE(sample.placement);
    EXPECT_EQ(runEverywhere(sample.text.write(),
                            {sample.arguments.begin(), sample.arguments.end()},
                            /*quantizeQueries=*/false, {"gpu-emulator"})
                  .error,
              "");
  });
}
#endif

TEST(MultiToken, random) {
  forSeeds(8200, numCases(24), [](std::uint64_t seed) {
    MultiTokenSample sample = createMultiTokenSample(seed);
    SCOPED_TRACE(sample.placement);
    EXPECT_EQ(runEverywhere(sample.text.write(),
                            {sample.arguments.begin(), sample.arguments.end()})
                  .error,
              "");
  });
}

} // namespace

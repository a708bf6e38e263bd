//===- MultiTokenGradientTest.cpp - Gradients of multi-token attention ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the oracle, by both lowerings; GradientTest.cpp has differences.
//
//===----------------------------------------------------------------------===//

#include "attn/gradient.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/MultiTokenTesting.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// The gradient of a text, as a function of the same name.
string differentiateText(const MultiTokenText &text) {
  Expected<string> gradient = differentiate(text.write());
  EXPECT_TRUE(gradient) << gradient.error().message;
  return *gradient;
}

/// Arguments of a kernel's gradient: its own, and gradients of its results.
struct Arguments {
  Arguments(const MultiTokenText &text, std::vector<TestTensor> inputs,
            Random &random)
      : tensors(std::move(inputs)) {
    Index batch = tensors[0].size(0), rows = tensors[0].size(2) - text.past;
    addGradient(text.type, {batch, text.queryHeads, rows, text.valueSize},
                random);
    if (text.logSumExp)
      addGradient(text.type == ElementType::f64 ? ElementType::f64
                                                : ElementType::f32,
                  {batch, text.queryHeads, rows}, random);
  }
  void addGradient(ElementType type, const Shape &shape, Random &random) {
    tensors.emplace_back(type, shape).fill([&] { return random.normal(); });
  }
  std::vector<TestArgument> get() const {
    return {tensors.begin(), tensors.end()};
  }

  std::vector<TestTensor> tensors;
};

std::vector<TestTensor> createInputs(const MultiTokenText &text, Index batch,
                                     Index queries, Index keys,
                                     Random &random) {
  std::vector<TestTensor> tensors;
  for (auto [heads, length, size] :
       {std::tuple(text.queryHeads, queries, text.keySize),
        std::tuple(text.keyValueHeads, keys, text.keySize),
        std::tuple(text.keyValueHeads, keys, text.valueSize)})
    tensors.emplace_back(text.type, Shape{batch, heads, length, size})
        .fill([&] { return random.normal(); });
  for (const Stage &stage : text.stages)
    tensors.push_back(createStage(stage, text.stageType, random));
  return tensors;
}

/// Every placement, of several tiles of rows and blocks of keys, with heads
/// that share keys, the same bits on any number of threads.
TEST(MultiTokenGradient, of_placements) {
  std::uint64_t seed = 9100;
  for (const string &placement : placements) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
    Random random(seed++);
    MultiTokenText text{.type = ElementType::f32,
                        .queryHeads = 4,
                        .keyValueHeads = 2,
                        .keySize = 16,
                        .valueSize = 8,
                        .stages = createStages(placement, 4, random),
                        .stageType = ElementType::f32,
                        .clauses = "mask causal",
                        .offset = "offset(bottom_right)",
                        .past = random.chance(0.5) ? 7 : 0};
    Arguments arguments(text, createInputs(text, 2, 110, 150, random), random);
    string gradient = differentiateText(text);
    EXPECT_EQ(runEverywhere(gradient, arguments.get()).error, "");
    auto bits = runOnThreads(1, gradient, arguments.get());
    for (unsigned threads : {2u, 3u})
      EXPECT_EQ(runOnThreads(threads, gradient, arguments.get()), bits)
          << threads << " threads";
  }
}

/// B4: what is hidden reaches no gradient, whatever it holds, and rows of
/// hidden keys have none.
TEST(MultiTokenGradient, b4_hidden) {
  std::uint64_t seed = 9200;
  for (const char *placement : {"kM", "mK", "xX"}) {
    SCOPED_TRACE(placement);
    Random random(seed++);
    MultiTokenText text{.type = ElementType::f32,
                        .queryHeads = 2,
                        .keyValueHeads = 1,
                        .keySize = 8,
                        .valueSize = 8,
                        .stages = createStages(placement, 2, random),
                        .stageType = ElementType::f32,
                        // Keys from 4 on, and none for the first rows.
                        .clauses = "mask causal, (%b, %h, %p, %j) { %c4 = "
                                   "arith.constant 4 : index %keep = "
                                   "arith.cmpi sge, %j, %c4 : index attn.yield "
                                   "%keep : i1 }"};
    Arguments arguments(text, createInputs(text, 1, 20, 20, random), random);
    for (std::size_t operand : {1, 2})
      arguments.tensors[operand].set({0, 0, 2, 3}, quietNaN);
    Results results = runEverywhere(differentiateText(text), arguments.get());
    EXPECT_EQ(results.error, "");
    for (const TestTensor &tensor : results.tensors)
      for (double element : tensor.elements())
        EXPECT_TRUE(std::isfinite(element));
    for (Index row : {0, 3})
      EXPECT_EQ(results.tensors[0].get({0, 1, row, 0}), 0);
    EXPECT_EQ(results.tensors[1].get({0, 0, 2, 0}), 0);
  }
}

/// Of a capture and a scalar, by the reference lowering, and of a sink.
TEST(MultiTokenGradient, b2_of_captures) {
  Random random(9300);
  MultiTokenText text{
      .type = ElementType::f32,
      .queryHeads = 2,
      .keyValueHeads = 1,
      .keySize = 4,
      .valueSize = 4,
      .stages = createStages("kM", 2, random),
      .stageType = ElementType::f32,
      .clauses = "sink(%sink : tensor<2xf32>) score(%s, %b, %h, %p, %j) "
                 "captures(%t = %table : tensor<2xf32>) { %x = tensor.extract "
                 "%t[%h] : tensor<2xf32> %y = arith.mulf %x, %s : f32 "
                 "attn.yield %y : f32 } mask causal",
      .parameters = ", %table: tensor<2xf32>, %sink: tensor<2xf32>"};
  std::vector<TestTensor> inputs = createInputs(text, 2, 9, 9, random);
  for (int i = 0; i < 2; ++i)
    inputs.push_back(normal(text.type, {2}, 9301 + std::uint64_t(i)));
  Arguments arguments(text, inputs, random);
  EXPECT_EQ(runEverywhere(differentiateText(text), arguments.get()).error, "");
}

TEST(MultiTokenGradient, b1_other_sizes) {
  Random random(9400);
  MultiTokenText text{.type = ElementType::f32,
                      .stages = {{"convolve_before", {1, 2, 3}}},
                      .stageType = ElementType::f32,
                      .logSumExp = false};
  Arguments arguments(text, createInputs(text, 1, 5, 5, random), random);
  // More rows of the output than queries.
  arguments.tensors[4] = TestTensor(ElementType::f32, {1, 1, 6, 1});
  EXPECT_NE(runEverywhere(differentiateText(text), arguments.get())
                .error.find("output"),
            string::npos);
}

} // namespace

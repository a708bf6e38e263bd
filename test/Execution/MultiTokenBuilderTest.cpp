//===- MultiTokenBuilderTest.cpp - Multi-token attention from C++ ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/multi_token_attention.h"
#include "examples/variants/gallery.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

struct BuiltRun {
  std::vector<TestTensor> arguments;
  Results results;
};

/// Runs a built kernel beside the oracle, on tensors of these shapes and what
/// comes after them.
BuiltRun runBuilt(const MultiTokenAttention &attention,
                  std::vector<Shape> shapes,
                  std::vector<TestArgument> others = {}) {
  BuiltRun run;
  Expected<string> text = attention.text();
  EXPECT_TRUE(text) << text.error().message;
  if (!text)
    return run;
  auto kernel = getEngine().compile(*text);
  EXPECT_TRUE(kernel) << kernel.error().message << "\n" << *text;
  if (!kernel)
    return run;
  run.arguments.reserve(shapes.size());
  std::vector<TestArgument> arguments;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    run.arguments.emplace_back(kernel->signature().arguments[i].type,
                               shapes[i]);
    Random random(60 + i);
    run.arguments.back().fill([&] { return random.normal(); });
    arguments.push_back(run.arguments.back().view());
  }
  arguments.insert(arguments.end(), others.begin(), others.end());
  run.results = runEverywhere(*text, arguments);
  EXPECT_EQ(run.results.error, "");
  return run;
}

string getError(const MultiTokenAttention &attention) {
  Expected<string> text = attention.text();
  return text ? "" : text.error().message;
}

TEST(MultiTokenBuilder, paper) {
  MultiTokenAttention attention =
      gallery::multiToken({.queryHeads = 4, .keyValueHeads = 2, .headSize = 8});
  Expected<string> text = attention.text();
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, R"(func.func @attention(
    %query: tensor<?x4x?x8xf32>,
    %key: tensor<?x2x?x8xf32>,
    %value: tensor<?x2x?x8xf32>,
    %kernel_before: tensor<4x6x11xf32>,
    %mixing_after: tensor<2x2x2xf32>)
    -> (tensor<?x4x?x8xf32>) {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %query, %0 : tensor<?x4x?x8xf32>
  %2 = arith.constant 2 : index
  %3 = tensor.dim %query, %2 : tensor<?x4x?x8xf32>
  %4 = tensor.empty(%1, %3) : tensor<?x4x?x8xf32>
  %5 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>)
      outs(%4 : tensor<?x4x?x8xf32>)
      convolve_before(%kernel_before : tensor<4x6x11xf32>)
      mix_after(%mixing_after : tensor<2x2x2xf32>)
      mask causal
  return %5 : tensor<?x4x?x8xf32>
}
)");
  runBuilt(attention,
           {{1, 4, 9, 8}, {1, 2, 9, 8}, {1, 2, 9, 8}, {4, 6, 11}, {2, 2, 2}});
}

TEST(MultiTokenBuilder, talking_heads) {
  runBuilt(gallery::talkingHeads({.queryHeads = 3, .headSize = 4}),
           {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 4}, {1, 3, 3}, {1, 3, 3}});
}

// Everything that an attention has, a past, and kernels with heads.
TEST(MultiTokenBuilder, all_members) {
  Tensor<float, 1> sinks("sinks", 4);
  MultiTokenAttention attention{
      .attention = {.type = ElementType::f16,
                    .queryHeads = 4,
                    .keyValueHeads = 2,
                    .headSize = 8,
                    .valueHeadSize = 6,
                    .scale = 0.25,
                    .offset = Offset::bottomRight(),
                    .sink = sinks,
                    .score = softcap(4.0),
                    .mask = causal(),
                    .logSumExp = true},
      .before = {.kernel = {{.queries = 2, .keys = 3, .heads = 2}}},
      .after = {.kernel = {{.queries = 3, .keys = 1}}, .mixedHeads = 4},
      .weights = ElementType::bf16,
      .past = 3,
      .headNorm = HeadNorm{.epsilon = 1e-6, .layer = 2}};
  BuiltRun run = runBuilt(attention,
                          {{1, 4, 5, 8},
                           {1, 2, 9, 8},
                           {1, 2, 9, 6},
                           {4, 2, 2, 3},
                           {4, 3, 1},
                           {1, 4, 4},
                           {6}},
                          {normal(ElementType::f32, {4}, 70)});
  ASSERT_EQ(run.results.tensors.size(), 2U);
  EXPECT_EQ(run.results.tensors[0].shape(), (Shape{1, 4, 2, 6}));
  EXPECT_EQ(run.results.tensors[1].shape(), (Shape{1, 4, 2}));
}

// The oracle has no gate: the output without it, times sigmoids.
TEST(MultiTokenBuilder, gate) {
  for (ElementType type : {ElementType::f32, ElementType::f16}) {
    MultiTokenAttention attention{
        .attention = {.type = type, .queryHeads = 2, .headSize = 4},
        .before = {.kernel = {{.queries = 2, .keys = 3}}},
        .weights = type,
        .past = 1,
        .headNorm = HeadNorm{}};
    std::vector<Shape> shapes = {
        {2, 2, 6, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}, {2, 2, 3}, {4}};
    BuiltRun plain = runBuilt(attention, shapes);
    attention.hasGate = true;
    Expected<string> text = attention.text();
    ASSERT_TRUE(text) << text.error().message;
    auto kernel = getEngine().compile(*text);
    ASSERT_TRUE(kernel) << kernel.error().message << "\n" << *text;
    TestTensor gate = normal(type, {2, 2, 5}, 80),
               output(type, Shape{2, 2, 5, 4});
    std::vector<Argument> arguments;
    for (const TestTensor &tensor : plain.arguments)
      arguments.emplace_back(tensor.view());
    arguments.emplace_back(gate.view());
    TensorView result = output.mutableView();
    Status status = kernel->run(arguments, {&result, 1});
    ASSERT_TRUE(status) << status.error().message;
    std::vector<double> expected = plain.results.tensors[0].elements(),
                        gates = gate.elements(), actual = output.elements();
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i] / (1 + std::exp(-gates[i / 4])),
                  type == ElementType::f32 ? 1e-6 : 2e-3);
  }
}

// Sizes that only a call knows.
TEST(MultiTokenBuilder, calls_of_wrong_sizes) {
  MultiTokenAttention attention{
      .attention = {.queryHeads = 2, .headSize = 4},
      .before = {.kernel = {{.queries = 2, .keys = 3}}},
      .past = 1,
      .hasGate = true};
  Expected<string> text = attention.text();
  ASSERT_TRUE(text) << text.error().message;
  auto kernel = getEngine().compile(*text);
  ASSERT_TRUE(kernel) << kernel.error().message << "\n" << *text;
  auto run = [&](std::int64_t queries, std::int64_t rows, std::int64_t gates,
                 std::int64_t gateBatch) {
    ElementType f32 = ElementType::f32;
    TestTensor query = normal(f32, {1, 2, queries, 4}, 1),
               key = normal(f32, {1, 2, 3, 4}, 2),
               kernelBefore = normal(f32, {2, 2, 3}, 3),
               gate = normal(f32, {gateBatch, 2, gates}, 4),
               output(f32, Shape{1, 2, rows, 4});
    Status status = kernel->run({query.view(), key.view(), key.view(),
                                 kernelBefore.view(), gate.view()},
                                {output.mutableView()});
    return status ? string() : status.error().message;
  };
  EXPECT_EQ(run(4, 3, 3, 1), "");
  EXPECT_NE(run(4, 3, 2, 1), "");
  EXPECT_NE(run(4, 3, 4, 1), "");
  EXPECT_NE(run(4, 3, 3, 2), "");
  EXPECT_NE(run(0, 0, 0, 1), ""); // Fewer queries than the past has.
}

TEST(MultiTokenBuilder, names_what_is_wrong) {
  MultiTokenAttention good{.attention = {.queryHeads = 6, .headSize = 4}};
  auto getErrorOf = [&](auto &&change) {
    MultiTokenAttention attention = good;
    change(attention);
    return getError(attention);
  };
  EXPECT_EQ(getError(good), "");
  EXPECT_EQ(getErrorOf([](auto &a) { a.before.kernel = {{.keys = 4}}; }),
            "before.kernel.keys: expected an odd number, got 4");
  EXPECT_EQ(getErrorOf([](auto &a) { a.after.kernel = {{.queries = 0}}; }),
            "after.kernel.queries: expected 1 to 2^30, got 0");
  EXPECT_EQ(getErrorOf([](auto &a) {
              a.after.kernel = {{.queries = std::int64_t(1) << 62}};
            }),
            "after.kernel.queries: expected 1 to 2^30, got "
            "4611686018427387904");
  EXPECT_EQ(getErrorOf([](auto &a) { a.before.kernel = {{.heads = 4}}; }),
            "before.kernel.heads: expected a divisor of queryHeads, which is "
            "6, got 4");
  EXPECT_EQ(getErrorOf([](auto &a) { a.after.mixedHeads = 0; }),
            "after.mixedHeads: expected a divisor of queryHeads, which is 6, "
            "got 0");
  EXPECT_EQ(getErrorOf([](auto &a) {
              a.after = {.kernel = {{.heads = 2}}, .mixedHeads = 3};
            }),
            "after.mixedHeads: expected none with a kernel with heads, got 3");
  EXPECT_EQ(getErrorOf([](auto &a) { a.weights = ElementType::f64; }),
            "weights: expected f32, f16 or bf16, got f64");
  EXPECT_EQ(getErrorOf([](auto &a) { a.past = -1; }),
            "past: expected at least 0, got -1");
  EXPECT_EQ(getErrorOf([](auto &a) {
              a.attention.queryLength = 2;
              a.past = 3;
            }),
            "past: expected 0 to the query length, which is 2, got 3");
  EXPECT_EQ(getErrorOf([](auto &a) { a.headNorm = HeadNorm{.epsilon = 0}; }),
            "headNorm.epsilon: expected a number that is positive and finite "
            "in f32, got 0.0");
  EXPECT_EQ(getErrorOf([](auto &a) { a.headNorm = HeadNorm{.layer = -1}; }),
            "headNorm.layer: expected at least 0, got -1");
  EXPECT_EQ(getErrorOf([](auto &a) {
              Tensor<std::int32_t, 1> starts("starts");
              a.attention.sequences = Sequences{starts, starts};
            }),
            "attention.sequences: expected none in multi-token attention, got "
            "one");
  EXPECT_EQ(getErrorOf([](auto &a) {
              a.hasGate = true;
              a.attention.sink = Tensor<float, 1>("gate", 6);
            }),
            "argument 'gate': expected a name that is not one of the kernel's "
            "own arguments");
}

} // namespace

//===- MultiTokenRulesTest.cpp - T2, T6, T7, T9, T10, executed ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Interpreter.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/MultiTokenTesting.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// Query of two heads, key and value of one, with rows of four numbers.
std::vector<TestTensor> createRows(ElementType type, Index queries, Index keys,
                                   std::uint64_t seed) {
  return {normal(type, {1, 2, queries, 4}, seed),
          normal(type, {1, 1, keys, 4}, seed + 1),
          normal(type, {1, 1, keys, 4}, seed + 2)};
}

MultiTokenText createText(ElementType type, const string &placement,
                          Random &random) {
  return {.type = type,
          .queryHeads = 2,
          .keySize = 4,
          .valueSize = 4,
          .stages = createStages(placement, 2, random),
          .stageType = type,
          .clauses = "mask causal"};
}

std::vector<TestTensor> createTensors(const MultiTokenText &text,
                                      Random &random) {
  std::vector<TestTensor> result;
  for (const Stage &stage : text.stages)
    result.push_back(createStage(stage, text.stageType, random));
  return result;
}

/// For the interpreter.
std::vector<Argument> toArguments(const std::vector<TestTensor> &tensors) {
  std::vector<Argument> result;
  for (const TestTensor &tensor : tensors)
    result.push_back(tensor.view());
  return result;
}

std::vector<double> readAll(const std::vector<ReferenceResult> &results) {
  std::vector<double> elements;
  for (const ReferenceResult &result : results)
    elements.insert(elements.end(), result.values.begin(), result.values.end());
  return elements;
}

TEST(MultiToken, t2_absent_rows) {
  // Of a ring that holds positions 5 to 8, with queries at 5 to 8.
  auto attend = [](Index rows, const string &stage, const string &shape) {
    string output = "tensor<1x1x" + std::to_string(rows) + "x1xf32>";
    TestTensor cache(ElementType::f32, {1, 1, 4, 1}, {8, 5, 6, 7}),
        query(ElementType::f32, {1, 1, 4, 1}, {0, 0, 0, 0}),
        weights(ElementType::f32, {1, 1, 1}, {2});
    if (shape == "1x2x1")
      weights = TestTensor(ElementType::f32, {1, 2, 1}, {1, 1});
    return runEverywhere(R"(
      func.func @f(%q: tensor<1x1x4x1xf32>, %cache: tensor<1x1x4x1xf32>,
          %lengths: tensor<1xi32>, %n: index, %offset: index,
          %weights: tensor<)" +
                             shape + "xf32>) -> " + output + R"( {
        %k = attn.cache_read ins(%cache : tensor<1x1x4x1xf32>)
            lengths(%lengths : tensor<1xi32>) ring size(%n)
            -> tensor<1x1x?x1xf32>
        %o = tensor.empty() : )" +
                             output + R"(
        %0 = attn.multi_token_attention ins(%q, %k, %k : tensor<1x1x4x1xf32>,
                tensor<1x1x?x1xf32>, tensor<1x1x?x1xf32>)
            outs(%o : )" + output +
                             ") offset(%offset : index) " + stage +
                             "(%weights : tensor<" + shape + R"(xf32>)
            mask sliding_window(3, 0)
        return %0 : )" + output +
                             "\n}\n",
                         {query, cache, i32({9}), Index(9), Index(5), weights});
  };
  // The last row sees what is there; the one before it sees position 4.
  EXPECT_EQ(attend(1, "mix_after", "1x1x1").tensors[0].elements(),
            (std::vector<double>{13}));
  for (auto [rows, stage, shape] : {std::tuple(2, "mix_after", "1x1x1"),
                                    std::tuple(1, "convolve_before", "1x2x1"),
                                    std::tuple(1, "convolve_after", "1x2x1")})
    EXPECT_NE(attend(rows, stage, shape).error.find("absent"), string::npos);
  EXPECT_EQ(attend(0, "convolve_after", "1x2x1").error, "");
}

TEST(MultiToken, t6_no_second_normalisation) {
  // Probabilities 1/2 and 1/2; each gets what its neighbour has.
  MultiTokenText text;
  text.stages = {{"convolve_after", {1, 1, 3}}};
  TestTensor zeros = f64({1, 1, 2, 1}, 0), value = f64({1, 1, 2, 1}, {3, 5}),
             kernel = f64({1, 1, 3}, 1);
  auto results = runEverywhere(text.write(), {zeros, zeros, value, kernel});
  expectNear(results.tensors[0].elements(), {8, 8});
  expectNear(results.tensors[1].elements(), {std::log(2), std::log(2)});
}

TEST(MultiToken, t7_hidden_rows) {
  std::uint64_t seed = 8300;
  for (auto [type, placement] :
       {std::pair(ElementType::f64, "xX"), std::pair(ElementType::f32, "kmKM")})
    for (bool hasSink : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
      Random random(seed++);
      MultiTokenText text = createText(type, placement, random);
      // Two rows are before the first key, and the last two see keys.
      text.offset = "offset(%offset : index)";
      text.parameters = ", %offset: index";
      text.past = 1;
      std::vector<TestTensor> tensors = createRows(type, 5, 6, seed);
      std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
      std::vector<TestTensor> stages = createTensors(text, random);
      arguments.insert(arguments.end(), stages.begin(), stages.end());
      arguments.push_back(-3);
      TestTensor sinks(type, {2}, {0.25, -1.5});
      if (hasSink) {
        string sink = "%sink: tensor<2x" + string(nameOf(type)) + ">";
        text.parameters += ", " + sink;
        text.offset += " sink(%sink : tensor<2x" + string(nameOf(type)) + ">)";
        arguments.push_back(sinks);
      }
      Results results = runEverywhere(text.write(), arguments);
      ASSERT_EQ(results.error, "");
      for (Index h = 0; h < 2; ++h)
        for (Index r = 0; r < 2; ++r) {
          for (Index d = 0; d < 4; ++d)
            EXPECT_EQ(*results.tensors[0].get({0, h, r, d}), 0);
          EXPECT_EQ(*results.tensors[1].get({0, h, r}), !hasSink ? -inf
                                                        : h == 0 ? 0.25
                                                                 : -1.5);
        }
    }
}

TEST(MultiToken, t7_infinite_scores_and_sinks) {
  std::uint64_t seed = 8350;
  for (auto [type, placement] :
       {std::pair(ElementType::f64, "X"), std::pair(ElementType::f32, "KM")})
    for (double sink : {inf, -inf, 0.5})
      for (double product : {0.0, inf}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
        Random random(seed++);
        MultiTokenText text = createText(type, placement, random);
        std::vector<TestTensor> tensors = createRows(type, 5, 6, seed);
        if (product == inf) // Of every row, positive or negative.
          tensors[1].set({0, 0, 4, 0}, inf);
        std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
        std::vector<TestTensor> stages = createTensors(text, random);
        arguments.insert(arguments.end(), stages.begin(), stages.end());
        string parameter = "%sink: tensor<2x" + string(nameOf(type)) + ">";
        text.parameters = ", " + parameter;
        text.offset = "sink(%sink : tensor<2x" + string(nameOf(type)) + ">)";
        TestTensor sinks(type, {2}, {sink, 0.25});
        arguments.push_back(sinks);
        Results results = runEverywhere(text.write(), arguments);
        ASSERT_EQ(results.error, "");
        for (Index r = 0; r < 5 && sink == inf; ++r)
          EXPECT_EQ(*results.tensors[1].get({0, 0, r}), inf);
      }
}

TEST(MultiToken, t9_identities_as_arguments) {
  std::uint64_t seed = 8400;
  for (const char *placement : {"kmKM", "xX"}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
    Random random(seed++);
    for (ElementType type : {ElementType::f64, ElementType::f32}) {
      MultiTokenText text = createText(type, placement, random);
      KernelText plain{.type = type,
                       .queryHeads = 2,
                       .keySize = 4,
                       .valueSize = 4,
                       .clauses = text.clauses};
      std::vector<TestTensor> tensors = createRows(type, 40, 70, seed);
      auto expected = interpret(plain.write(), "plain.mlir", "attention",
                                toArguments(tensors));
      ASSERT_TRUE(expected.ok()) << expected.error().message;
      for (const Stage &stage : text.stages)
        tensors.push_back(createIdentity(stage, type));
      auto actual =
          interpret(text.write(), "text.mlir", "f", toArguments(tensors));
      ASSERT_TRUE(actual.ok()) << actual.error().message;
      EXPECT_EQ(readAll(*actual), readAll(*expected));
      std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
      EXPECT_EQ(runEverywhere(text.write(), arguments).error, "");
    }
  }
}

TEST(MultiToken, t9_constant_identities_with_past) {
  // What is left is attn.attention, of as many rows as the output has.
  string text = R"(
    func.func @f(%q: tensor<?x2x?x4xf32>, %k: tensor<?x1x?x4xf32>,
                 %v: tensor<?x1x?x4xf32>, %rows: index)";
  string body = R"() -> tensor<?x2x?x4xf32> {
      %c0 = arith.constant 0 : index
      %batch = tensor.dim %q, %c0 : tensor<?x2x?x4xf32>
      %o = tensor.empty(%batch, %rows) : tensor<?x2x?x4xf32>
      %one = arith.constant dense<1.0> : tensor<2x1x1xf32>
      %0 = attn.multi_token_attention ins(%q, %k, %v : tensor<?x2x?x4xf32>,
              tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>)
          outs(%o : tensor<?x2x?x4xf32>) )";
  string end = R"( mix_after(%one : tensor<2x1x1xf32>) mask causal
      return %0 : tensor<?x2x?x4xf32>
    })";
  std::vector<TestTensor> tensors = createRows(ElementType::f32, 9, 12, 8500);
  TestTensor offset = i32({2});
  for (Index rows : {0, 3, 9, 10}) {
    SCOPED_TRACE(rows);
    std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
    arguments.push_back(rows);
    Results results =
        runEverywhere(text + body + "offset(bottom_right)" + end, arguments);
    EXPECT_EQ(results.error.empty(), rows <= 9) << results.error;
    arguments.push_back(offset);
    results = runEverywhere(text + ", %offset: tensor<?xi32>" + body +
                                "offset(%offset : tensor<?xi32>)" + end,
                            arguments);
    EXPECT_EQ(results.error.empty(), rows <= 9) << results.error;
  }
}

TEST(MultiToken, t10_any_number_of_threads) {
  std::uint64_t seed = 8600;
  for (const char *placement : {"kM"}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
    Random random(seed++);
    MultiTokenText text = createText(ElementType::f32, placement, random);
    std::vector<TestTensor> tensors =
        createRows(ElementType::f32, 150, 150, seed);
    std::vector<TestArgument> arguments(tensors.begin(), tensors.end());
    std::vector<TestTensor> stages = createTensors(text, random);
    arguments.insert(arguments.end(), stages.begin(), stages.end());
    auto expected = runOnThreads(1, text.write(), arguments);
    for (unsigned threads : {1, 2, 5})
      EXPECT_EQ(runOnThreads(threads, text.write(), arguments), expected)
          << threads << " threads";
  }
}

/// A step: one more row of a cache, and one of the output for the last of some
/// queries.
string writeStep(const std::vector<Stage> &stages) {
  string parameters, clauses;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    string name = "%stage" + std::to_string(i), type = "tensor<";
    for (Index size : stages[i].shape)
      type += std::to_string(size) + "x";
    parameters += ", " + name + ": " + type + "f32>";
    clauses += stages[i].keyword + "(" + name + " : " + type + "f32>) ";
  }
  return R"(
    func.func @f(%q: tensor<1x2x?x4xf32>, %key: tensor<1x1x1x4xf32>,
        %value: tensor<1x1x1x4xf32>,
        %keys: tensor<1x1x512x4xf32> {bufferization.writable = true},
        %values: tensor<1x1x512x4xf32> {bufferization.writable = true},
        %before: tensor<1xi32>, %after: tensor<1xi32>, %n: index)" +
         parameters + R"()
        -> (tensor<1x2x1x4xf32>, tensor<1x1x512x4xf32>, tensor<1x1x512x4xf32>) {
      %ks = attn.cache_append ins(%key : tensor<1x1x1x4xf32>)
          outs(%keys : tensor<1x1x512x4xf32>) lengths(%before : tensor<1xi32>)
      %vs = attn.cache_append ins(%value : tensor<1x1x1x4xf32>)
          outs(%values : tensor<1x1x512x4xf32>) lengths(%before : tensor<1xi32>)
      %k = attn.cache_read ins(%ks : tensor<1x1x512x4xf32>)
          lengths(%after : tensor<1xi32>) size(%n) -> tensor<1x1x?x4xf32>
      %v = attn.cache_read ins(%vs : tensor<1x1x512x4xf32>)
          lengths(%after : tensor<1xi32>) size(%n) -> tensor<1x1x?x4xf32>
      %o = tensor.empty() : tensor<1x2x1x4xf32>
      %0 = attn.multi_token_attention ins(%q, %k, %v : tensor<1x2x?x4xf32>,
              tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
          outs(%o : tensor<1x2x1x4xf32>) offset(bottom_right)
          )" +
         clauses +
         R"(mask causal
      return %0, %ks, %vs : tensor<1x2x1x4xf32>, tensor<1x1x512x4xf32>,
          tensor<1x1x512x4xf32>
    })";
}

/// Rows `begin` to `end` of every head.
TestTensor takeRows(const TestTensor &tensor, Index begin, Index end) {
  TestTensor result(tensor.type(),
                    {1, tensor.size(1), end - begin, tensor.size(3)});
  result.fill([&](const Shape &i) {
    return *tensor.get({0, i[1], begin + i[2], i[3]});
  });
  return result;
}

TEST(MultiToken, t2_decoding_equals_recomputation) {
  const Index steps = 500;
  std::uint64_t seed = 8700;
  for (const char *placement : {"k", "kM", "kK", "xX"}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + placement);
    Random random(seed++);
    MultiTokenText text = createText(ElementType::f32, placement, random);
    text.logSumExp = false;
    std::vector<TestTensor> rows =
        createRows(ElementType::f32, steps, steps, seed);
    std::vector<TestTensor> stages = createTensors(text, random);
    Index halo = 0; // Queries that a step keeps.
    for (const Stage &stage : text.stages)
      if (stage.keyword.starts_with("convolve"))
        halo += stage.shape[stage.shape.size() - 2] - 1;
    std::vector<TestTensor> all = rows;
    all.insert(all.end(), stages.begin(), stages.end());
    auto expected =
        interpret(text.write(), "whole.mlir", "f", toArguments(all));
    ASSERT_TRUE(expected.ok()) << expected.error().message;

    Expected<Kernel> step = getEngine().compile(writeStep(text.stages));
    ASSERT_TRUE(step.ok()) << step.error().message;
    TestTensor keys(ElementType::f32, {1, 1, 512, 4}),
        values(ElementType::f32, {1, 1, 512, 4}),
        output(ElementType::f32, {1, 2, 1, 4});
    std::vector<double> decoded((*expected)[0].values.size());
    for (Index t = 0; t < steps; ++t) {
      TestTensor query = takeRows(rows[0], std::max<Index>(t - halo, 0), t + 1),
                 key = takeRows(rows[1], t, t + 1),
                 value = takeRows(rows[2], t, t + 1), before = i32({double(t)}),
                 after = i32({double(t + 1)});
      std::vector<Argument> arguments = {
          query.view(),  key.view(),    value.view(), keys.view(),
          values.view(), before.view(), after.view(), t + 1};
      for (const TestTensor &stage : stages)
        arguments.push_back(stage.view());
      std::vector<TensorView> results = {
          output.mutableView(), keys.mutableView(), values.mutableView()};
      Status status = step->run(arguments, results);
      ASSERT_TRUE(status.ok())
          << "step " << t << ": " << status.error().message;
      for (Index h = 0; h < 2; ++h)
        for (Index d = 0; d < 4; ++d)
          decoded[std::size_t((h * steps + t) * 4 + d)] =
              *output.get({0, h, 0, d});
    }
    expectNear(decoded, (*expected)[0].values, 1e-5);
  }
}

} // namespace

//===- CornerRulesTest.cpp - A13 to A16, executed -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test is named after the rule of attn.attention's documentation that it
// holds kernels to.
//
//===----------------------------------------------------------------------===//

#include "attn/gradient.h"
#include "test/Execution/Covering.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

TEST(Rules, attention_a13_nothing_leaks_out_of_masked_places) {
  for (ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16,
                           ElementType::bf16}) {
    for (double poison : {quietNaN, inf, -inf}) {
      KernelText text{.type = type,
                      .keySize = 2,
                      .valueSize = 2,
                      .clauses = "mask key_padding(%lengths : tensor<?xi32>)",
                      .parameters = ", %lengths: tensor<?xi32>"};
      TestTensor query = normal(type, {2, 1, 3, 2}),
                 key = normal(type, {2, 1, 5, 2}, 2),
                 value = normal(type, {2, 1, 5, 2}, 3), lengths = i32({3, 0});
      Outcome clean =
          run(text, {query.view(), key.view(), value.view(), lengths.view()});
      for (TestTensor *tensor : {&key, &value})
        for (Index b = 0; b < 2; ++b)
          for (Index j = b ? 0 : 3; j < 5; ++j)
            for (Index d = 0; d < 2; ++d)
              tensor->set({b, 0, j, d}, poison);
      for (Index d = 0; d < 2; ++d)
        query.set({1, 0, 1, d}, poison); // A row that sees nothing.
      Outcome outcome =
          run(text, {query.view(), key.view(), value.view(), lengths.view()});
      EXPECT_EQ(outcome.output, clean.output);
      EXPECT_EQ(outcome.logSumExp, clean.logSumExp);
      for (double element : outcome.output)
        EXPECT_TRUE(std::isfinite(element));
    }
  }
}

TEST(Rules, attention_a13_a_score_of_minus_infinity_hides_its_value) {
  KernelText text{.clauses = "score bias(%bias : tensor<?xf64>)",
                  .parameters = ", %bias: tensor<?xf64>"};
  TestTensor query = f64({1, 1, 1, 1}, 0.0), key = f64({1, 1, 3, 1}, 1.0),
             value = f64({1, 1, 3, 1}, {2, quietNaN, 4}),
             bias = f64({3}, {0, -inf, 0});
  Outcome outcome =
      run(text, {query.view(), key.view(), value.view(), bias.view()});
  expectNear(outcome.output, {3});
  expectNear(outcome.logSumExp, {std::log(2)});
}

TEST(Rules, attention_a13_a_visible_nan_reaches_the_output) {
  KernelText text{.clauses = "mask causal"};
  TestTensor query = f64({1, 1, 3, 1}, 1.0), key = f64({1, 1, 3, 1}, 1.0),
             value = f64({1, 1, 3, 1}, {1, quietNaN, 1});
  Outcome outcome = run(text, {query.view(), key.view(), value.view()});
  expectNear(outcome.output, {1, quietNaN, quietNaN});
  expectNear(outcome.logSumExp, {1, 1 + std::log(2), 1 + std::log(3)});
  key.set({0, 0, 1, 0}, quietNaN);
  value.set({0, 0, 1, 0}, 1);
  outcome = run(text, {query.view(), key.view(), value.view()});
  expectNear(outcome.output, {1, quietNaN, quietNaN});
  expectNear(outcome.logSumExp, {1, quietNaN, quietNaN});
}

/// Also where weights that are relative to an earlier maximum would make a
/// product infinite.
TEST(Rules, attention_a13_large_values_stay_finite) {
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    KernelText text{.type = type, .keySize = 64, .valueSize = 64};
    TestTensor query = normal(type, {1, 1, 40, 64}),
               key = normal(type, {1, 1, 200, 64}),
               value = normal(type, {1, 1, 200, 64});
    for (Index d = 0; d < 64; ++d) {
      for (Index i = 0; i < 40; ++i)
        query.set({0, 0, i, d}, d == 0);
      for (Index j = 0; j < 200; ++j) {
        key.set({0, 0, j, d}, d == 0 && j == 150 ? 39 : 0); // Scaled, 4.875.
        value.set({0, 0, j, d}, j == 150 ? 0x1p123 : 1);
      }
    }
    Outcome outcome = run(text, {query.view(), key.view(), value.view()});
    double weight = std::exp(4.875);
    double expected = weight / (weight + 199) * 0x1p123;
    for (double element : outcome.output)
      EXPECT_NEAR(element / expected, 1,
                  type == ElementType::f32 ? 1e-5 : 1e-2);
  }
}

TEST(Rules, attention_a14_rows_that_see_nothing) {
  for (ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16,
                           ElementType::bf16}) {
    KernelText text{.type = type, .clauses = R"(mask(%b, %h, %p, %j) {
        %one = arith.constant 1 : index
        %keep = arith.cmpi ne, %p, %one : index
        attn.yield %keep : i1
      })"};
    TestTensor query = normal(type, {1, 1, 2, 1}),
               key = normal(type, {1, 1, 4, 1});
    Outcome outcome = run(text, {query.view(), key.view(), key.view()});
    EXPECT_EQ(outcome.output[1], 0);
    EXPECT_EQ(outcome.logSumExp[1], -inf);
    EXPECT_TRUE(std::isfinite(outcome.logSumExp[0]));
  }
}

TEST(Rules, attention_a14_biases_of_minus_infinity) {
  KernelText text{.clauses = "score bias(%bias : tensor<?x?xf64>)",
                  .parameters = ", %bias: tensor<?x?xf64>"};
  std::vector<Argument> arguments = powers(2, 2);
  TestTensor bias = f64({2, 2}, {-inf, -inf, -inf, 0});
  arguments.push_back(bias.view());
  Outcome outcome = run(text, arguments);
  expectNear(outcome.output, {0, 2});
  expectNear(outcome.logSumExp, {-inf, 0});
}

TEST(Rules, attention_a14_empty_rows_with_a_sink) {
  KernelText text{.queryHeads = 2,
                  .clauses = "sink(%sink : tensor<2xf64>) "
                             "mask sliding_window(0, 0)",
                  .parameters = ", %sink: tensor<2xf64>"};
  TestTensor query = f64({1, 2, 2, 1}, 0.0), key = f64({1, 1, 1, 1}, 1.0),
             sink = f64({2}, {3, -inf});
  Outcome outcome =
      run(text, {query.view(), key.view(), key.view(), sink.view()});
  expectNear(outcome.output, {1 / (1 + std::exp(3)), 0, 1, 0});
  expectNear(outcome.logSumExp, {std::log(1 + std::exp(3)), 3, 0, -inf});
}

TEST(Rules, attention_a14_sinks_that_are_not_finite) {
  // A row that sees no key has the sink's log-sum-exp; in a row that sees some,
  // the formula gives what it gives (A16).
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (ElementType type : {ElementType::f64, ElementType::f32}) {
    std::string ofSink = "tensor<3x" + std::string(nameOf(type)) + ">";
    KernelText text{.type = type,
                    .queryHeads = 3,
                    .clauses = "sink(%sink : " + ofSink +
                               ") mask sliding_window(0, 0)",
                    .parameters = ", %sink: " + ofSink};
    double large = 0x1p100;
    TestTensor query(type, {1, 3, 2, 1}, std::vector<double>(6, 0.0)),
        key(type, {1, 1, 1, 1}, {1.0}), sink(type, {3}, {inf, nan, large});
    Outcome outcome =
        run(text, {query.view(), key.view(), key.view(), sink.view()});
    expectNear(outcome.output, {0, 0, nan, 0, 0, 0});
    expectNear(outcome.logSumExp, {inf, inf, nan, nan, large, large});
  }
}

/// The scores of row p that are not finite, in one block of keys or in several.
double unusualScore(Index p, Index j) {
  const std::vector<std::pair<Index, double>> rows[] = {
      {},
      {{5, inf}},
      {{5, inf}, {250, inf}},
      {{250, inf}},
      {{5, inf}, {6, quietNaN}},
      {{4, quietNaN}, {5, inf}},
      {{5, quietNaN}, {250, inf}},
      {{5, inf}, {250, quietNaN}},
      {{5, inf}, {6, -inf}},
      {{5, -inf}, {250, inf}},
      {{5, quietNaN}}};
  for (auto [key, score] : rows[std::size_t(p) % std::size(rows)])
    if (key == j)
      return score;
  return p % 13 == 12 ? -inf : 0;
}

const std::vector<ElementType> floatTypes = {
    ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16};

/// Where kernels are compiled for: "x86-64-v3" is the pipeline for CPUs with
/// vectors of which exponentials are others.
const std::vector<std::string> everywhere = [] {
  std::vector<std::string> result = everyPipeline;
  result.push_back("x86-64-v3");
  return result;
}();

/// What is made of `text` with 2 or 40 queries: all that pipelines branch on.
void runAt(const std::string &where, KernelText text, ElementType type,
           const std::vector<Argument> &others) {
  if (type == ElementType::f64 && where == "gpu-emulator")
    return; // Not lowered.
  bool isOther = where == "x86-64-v3";
  text.type = type;
  text.keySize = text.valueSize = 16;
  text.pipeline = isOther ? "cpu" : where;
  for (Index queries : {2, 40}) {
    SCOPED_TRACE(where + ", " + std::string(nameOf(type)) + ", " +
                 std::to_string(queries) + " queries");
    TestTensor query = normal(type, {1, text.queryHeads, queries, 16}),
               key = normal(type, {1, 1, 300, 16}, 2),
               value = normal(type, {1, 1, 300, 16}, 3);
    std::vector<Argument> arguments = {query.view(), key.view(), value.view()};
    arguments.insert(arguments.end(), others.begin(), others.end());
    Outcome outcome = run(text, arguments);
    EXPECT_EQ(outcome.error, "");
    if (!isOther || queries == 2)
      continue;
    // Not every machine has these.
    Expected<Engine> engine = Engine::create({.cpu = where});
    if (!engine)
      continue;
    Expected<Kernel> kernel = engine->compile(text.write());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    Outcome other = run(*kernel, arguments);
    EXPECT_EQ(other.error, "");
    expectNear(other.output, outcome.output, 2e-2);
    expectNear(other.logSumExp, outcome.logSumExp, 1e-4);
  }
}

TEST(Rules, attention_a16_infinite_scores) {
  for (auto [type, where, mask] :
       coverChoices<ElementType, std::string, const char *>(
           floatTypes, everywhere, {"", " mask sliding_window(-1, 280)"})) {
    ElementType sums =
        type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
    KernelText text;
    text.parameters =
        ", %bias: tensor<40x300x" + std::string(nameOf(sums)) + ">";
    text.clauses = "score bias(%bias : tensor<40x300x" +
                   std::string(nameOf(sums)) + ">)" + mask;
    TestTensor bias(sums, {40, 300});
    bias.fill([](const Shape &at) { return unusualScore(at[0], at[1]); });
    runAt(where, text, type, {bias.view()});
  }
}

TEST(Rules, attention_a16_infinite_sinks) {
  for (auto [type, where, hasScores] :
       coverChoices<ElementType, std::string, bool>(floatTypes, everywhere,
                                                    {false, true})) {
    ElementType sums =
        type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
    std::string name(nameOf(sums));
    KernelText text{.queryHeads = 3};
    text.parameters =
        ", %sink: tensor<3x" + name + ">, %bias: tensor<40x300x" + name + ">";
    text.clauses = "sink(%sink : tensor<3x" + name + ">)";
    if (hasScores)
      text.clauses += " score bias(%bias : tensor<40x300x" + name + ">)";
    TestTensor sink(sums, {3}, {inf, -inf, 0.5}), bias(sums, {40, 300});
    bias.fill([](const Shape &at) { return unusualScore(at[0], at[1]); });
    runAt(where, text, type, {sink.view(), bias.view()});
  }
}

/// By products of infinite elements, without a region.
TEST(Rules, attention_a16_infinite_products) {
  for (auto [type, pipeline, queries, poison] :
       coverPairs<ElementType, std::string, Index, double>(
           floatTypes, everyPipeline, {2, 40}, {inf, quietNaN})) {
    if (type == ElementType::f64 && pipeline == "gpu-emulator")
      continue;
    KernelText text{
        .type = type, .keySize = 16, .valueSize = 16, .pipeline = pipeline};
    // So long that some split the keys of few queries. Where they do not, as
    // many values that cancel would round by as much as the tolerance.
    Index keys = queries == 2 ? 2100 : 300;
    TestTensor query = normal(type, {1, 1, queries, 16}),
               key = normal(type, {1, 1, keys, 16}, 2),
               value = normal(type, {1, 1, keys, 16}, 3);
    key.set({0, 0, 250, 3}, inf);
    key.set({0, 0, keys - 20, 3}, poison);
    EXPECT_EQ(run(text, {query.view(), key.view(), value.view()}).error, "");
  }
}

TEST(Rules, attention_backward_g4_rows_that_are_not_finite) {
  Expected<std::string> gradient = differentiate(R"(
    func.func @attention(%q: tensor<1x1x4x2xf32>, %k: tensor<1x1x4x2xf32>,
        %v: tensor<1x1x4x2xf32>) -> tensor<1x1x4x2xf32> {
      %0 = tensor.empty() : tensor<1x1x4x2xf32>
      %1 = attn.attention ins(%q, %k, %v : tensor<1x1x4x2xf32>,
          tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>)
          outs(%0 : tensor<1x1x4x2xf32>) mask (%b, %h, %p, %j) {
        %keep = arith.cmpi slt, %j, %p : index
        attn.yield %keep : i1
      }
      return %1 : tensor<1x1x4x2xf32>
    })");
  ASSERT_TRUE(gradient) << gradient.error().message;
  for (double number : {inf, quietNaN}) {
    TestTensor query = normal(ElementType::f32, {1, 1, 4, 2}),
               key = normal(ElementType::f32, {1, 1, 4, 2}, 2),
               value = normal(ElementType::f32, {1, 1, 4, 2}, 3),
               seed = normal(ElementType::f32, {1, 1, 4, 2}, 4);
    // Row 0 sees nothing, row 1 key 0, row 2 key 1 as well, and row 3 key 2,
    // which has the number.
    query.fill([&](const Shape &i) { return 1.0 + double(i[2]); });
    key.set({0, 0, 2, 0}, number);
    Results results = runEverywhere(*gradient, {query, key, value, seed});
    ASSERT_EQ(results.error, "");
    for (Index d : {0, 1}) {
      EXPECT_EQ(results.tensors[0].get({0, 0, 0, d}), 0);
      EXPECT_TRUE(std::isfinite(*results.tensors[0].get({0, 0, 2, d})));
      EXPECT_TRUE(std::isnan(*results.tensors[0].get({0, 0, 3, d})));
      EXPECT_TRUE(std::isnan(*results.tensors[1].get({0, 0, 0, d})));
      EXPECT_EQ(results.tensors[1].get({0, 0, 3, d}), 0);
    }
  }
}

// What is added to other parts before it is rounded.
TEST(Rules, attention_backward_g2_gradients_of_the_type_of_sums) {
  const std::string text = R"(
    !q = tensor<2x4x37x16xELEMENT>
    !k = tensor<2x2x45x16xELEMENT>
    !l = tensor<2x4x37xf32>
    !n = tensor<4xf16>
    !s = tensor<4xf32>
    func.func @f(%q: !q, %k: !k, %o: !q, %lse: !l, %do: !q, %sink: !n,
                 %slopes: !n) -> (!s, !s) {
      %oq = tensor.empty() : !q
      %ok = tensor.empty() : !k
      %os = tensor.empty() : !s
      %d:5 = attn.attention_backward
          ins(%q, %k, %k, %o, %lse, %do : !q, !k, !k, !q, !l, !q)
          outs(%oq, %ok, %ok, %os, %os : !q, !k, !k, !s, !s)
          offset(bottom_right) sink(%sink : !n) score alibi(%slopes : !n)
          mask causal gradients(sink, 0)
      return %d#3, %d#4 : !s, !s
    })";
  for (auto [type, name] :
       {std::pair(ElementType::f32, "f32"), std::pair(ElementType::f16, "f16"),
        std::pair(ElementType::bf16, "bf16")}) {
    std::string of = text;
    for (std::size_t at; (at = of.find("ELEMENT")) != std::string::npos;)
      of.replace(at, 7, name);
    TestTensor query = normal(type, {2, 4, 37, 16}, 1),
               key = normal(type, {2, 2, 45, 16}, 2),
               output = normal(type, {2, 4, 37, 16}, 3),
               lse = normal(ElementType::f32, {2, 4, 37}, 4),
               gradient = normal(type, {2, 4, 37, 16}, 5),
               sink = normal(ElementType::f16, {4}, 6),
               slopes(ElementType::f16, {4});
    slopes.fill([](const Shape &i) { return 0.25 + 0.125 * double(i[0]); });
    EXPECT_EQ(
        runEverywhere(of, {query, key, output, lse, gradient, sink, slopes})
            .error,
        "")
        << name;
  }
}

TEST(Rules, attention_a15_the_same_bits) {
  KernelText text{.type = ElementType::f32,
                  .queryHeads = 4,
                  .keyValueHeads = 2,
                  .keySize = 16,
                  .valueSize = 16,
                  .clauses = "score softcap(5.0) mask causal"};
  TestTensor query = normal(ElementType::f32, {2, 4, 33, 16}),
             key = normal(ElementType::f32, {2, 2, 33, 16}, 2),
             value = normal(ElementType::f32, {2, 2, 33, 16}, 3);
  std::vector<Argument> arguments = {query.view(), key.view(), value.view()};
  Expected<Kernel> kernel = getEngine().compile(text.write());
  ASSERT_TRUE(kernel.ok());
  Outcome first = run(*kernel, arguments);
  EXPECT_EQ(run(*kernel, arguments).output, first.output);
  std::vector<Outcome> outcomes(4);
  std::vector<std::thread> threads;
  for (Outcome &outcome : outcomes)
    threads.emplace_back([&] {
      TestTensor output(ElementType::f32, {2, 4, 33, 16}),
          lse(ElementType::f32, {2, 4, 33});
      TensorView views[] = {output.mutableView(), lse.mutableView()};
      if (Status status = kernel->run(arguments, views); !status)
        outcome.error = status.error().message;
      outcome.output = output.elements();
      outcome.logSumExp = lse.elements();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Outcome &outcome : outcomes) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.output, first.output);
    EXPECT_EQ(outcome.logSumExp, first.logSumExp);
  }
}

} // namespace

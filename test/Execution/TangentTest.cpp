//===- TangentTest.cpp - Tangents against differences ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attn-tangent makes of functions of f64, and of their gradients, against
// difference quotients of these, by both lowerings.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/engine.h"
#include "test/Execution/DerivativeCases.h"
#include "test/Execution/KernelCache.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// Checks what the tangent of a text gives for one direction in which all of
/// `tested.of` move.
void check(const DerivativeCase &tested, const string &pipeline,
           double tolerance) {
  SCOPED_TRACE(tested.name + ", " + pipeline);
  Expected<Engine> engine =
      Engine::create({.cacheDirectory = getCacheDirectory(), .threads = 1});
  ASSERT_TRUE(engine);
  Expected<Kernel> function =
      engine->compile(tested.text, {.pipeline = "reference"});
  ASSERT_TRUE(function) << function.error().message;
  Expected<string> text = differentiateForward(tested.text, {.of = tested.of});
  ASSERT_TRUE(text) << text.error().message;
  Expected<Kernel> tangent = engine->compile(*text, {.pipeline = pipeline});
  ASSERT_TRUE(tangent) << tangent.error().message << "\n" << *text;

  Random random(std::hash<string>()(tested.name));
  RandomArguments arguments(function->signature(), tested, random);
  std::vector<Argument> all = arguments.values;
  std::vector<TestTensor> directions, moved;
  directions.reserve(tested.of.size());
  for (const string &name : tested.of) {
    ASSERT_LT(arguments.find(name), arguments.names.size()) << name;
    const TestTensor &start = arguments.getTensor(name);
    TensorView view = start.view();
    Shape shape(view.sizes().begin(), view.sizes().end());
    TestTensor &direction = directions.emplace_back(view.type(), shape);
    direction.fill([&] { return random.normal(); });
    all.emplace_back(direction.view());
    moved.emplace_back(view.type(), shape);
  }
  auto runAt = [&](double time) {
    std::vector<Argument> changed = arguments.values;
    for (std::size_t n = 0; n < tested.of.size(); ++n) {
      std::vector<double> start = arguments.getTensor(tested.of[n]).elements(),
                          direction = directions[n].elements();
      std::size_t i = 0;
      moved[n].fill([&] {
        double value = start[i] + time * direction[i];
        ++i;
        return value;
      });
      changed[arguments.find(tested.of[n])] = moved[n].view();
    }
    return runKernel(*function, changed);
  };
  // The quotient of five points, of each element.
  double step = 3e-4;
  auto a = runAt(step), b = runAt(-step), c = runAt(2 * step),
       d = runAt(-2 * step);
  std::vector<std::vector<double>> actual = runKernel(*tangent, all);
  ASSERT_EQ(actual.size(), a.size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    ASSERT_EQ(actual[r].size(), a[r].size());
    double largest = 1, error = 0;
    for (std::size_t i = 0; i < a[r].size(); ++i) {
      double expected =
          (8 * (a[r][i] - b[r][i]) - (c[r][i] - d[r][i])) / (12 * step);
      largest = std::fmax(largest, std::fabs(expected));
      error = std::fmax(error, std::fabs(actual[r][i] - expected));
    }
    EXPECT_LE(error, tolerance * largest) << "result " << r;
  }
}

TEST(Tangent, IsTheDerivative) {
  for (const DerivativeCase &tested : getDerivativeCases())
    check(tested, "cpu", 1e-8);
  for (const DerivativeCase &tested : selectDerivativeCases(0))
    check(tested, "reference", 1e-8);
}

/// The product of the Hessian and a vector, of what a gradient is of.
TEST(Tangent, OfAGradient) {
  for (const DerivativeCase &tested : selectDerivativeCases(1)) {
    Expected<string> gradient = differentiate(tested.text, {.of = tested.of});
    ASSERT_TRUE(gradient) << gradient.error().message;
    DerivativeCase second = tested;
    second.name += ", gradient";
    second.text = *gradient;
    check(second, "cpu", 1e-7);
  }
}

/// Of attention whose scores see each other, by loops of the reference.
TEST(Tangent, OfMultiTokenAttention) {
  DerivativeCase tested{
      "multiToken",
      R"(func.func @f(%q: tensor<1x2x5x4xf64>, %k: tensor<1x2x6x4xf64>,
          %v: tensor<1x2x6x3xf64>, %w: tensor<2x3x3xf64>)
          -> tensor<1x2x5x3xf64> {
        %o = tensor.empty() : tensor<1x2x5x3xf64>
        %r = attn.multi_token_attention ins(%q, %k, %v : tensor<1x2x5x4xf64>,
            tensor<1x2x6x4xf64>, tensor<1x2x6x3xf64>)
            outs(%o : tensor<1x2x5x3xf64>)
            convolve_before(%w : tensor<2x3x3xf64>) mask causal
        return %r : tensor<1x2x5x3xf64>
      })",
      {"q", "k", "v", "w"}};
  for (const char *pipeline : {"reference", "cpu"})
    check(tested, pipeline, 1e-8);
}

/// What Engine::compileTangent gives is the tangent of the text, from what the
/// variant's kernel has left: the same for any number of threads.
TEST(Tangent, OfAVariant) {
  attn::Tensor<float, 1> slopes("slopes", 4);
  Attention attention{.queryHeads = 4,
                      .keyValueHeads = 2,
                      .headSize = 8,
                      .batch = 1,
                      .queryLength = 70,
                      .keyLength = 70,
                      .score = alibi(slopes),
                      .mask = causal(),
                      .logSumExp = true};
  GradientOptions of{.of = {"query", "value", "slopes"}};
  std::vector<std::vector<double>> first;
  for (unsigned threads : {1u, 2u, 3u}) {
    Expected<Engine> engine = Engine::create({.threads = threads});
    ASSERT_TRUE(engine);
    Expected<Kernel> forward = engine->compile(attention);
    ASSERT_TRUE(forward) << forward.error().message;
    Expected<Kernel> tangent = engine->compileTangent(attention, of);
    ASSERT_TRUE(tangent) << tangent.error().message;
    std::vector<string> names;
    for (const Parameter &parameter : tangent->signature().arguments)
      names.push_back(parameter.name);
    EXPECT_EQ(names,
              (std::vector<string>{"query", "key", "value", "slopes",
                                   "result_0", "result_1", "query_tangent",
                                   "value_tangent", "slopes_tangent"}));
    Random random(5);
    RandomArguments arguments(forward->signature(), {}, random);
    std::vector<std::vector<double>> saved =
        runKernel(*forward, arguments.values);
    TestTensor output(ElementType::f32, {1, 4, 70, 8}, saved[0]),
        logSumExp(ElementType::f32, {1, 4, 70}, saved[1]);
    RandomArguments tangents(forward->signature(), {}, random);
    std::vector<Argument> all = arguments.values;
    all.emplace_back(output.view());
    all.emplace_back(logSumExp.view());
    for (std::size_t number : {0u, 2u, 3u})
      all.push_back(tangents.values[number]);
    std::vector<std::vector<double>> results = runKernel(*tangent, all);
    if (first.empty())
      first = results;
    EXPECT_EQ(results, first) << threads;
    if (threads > 1)
      continue;

    Expected<string> text = attention.text();
    ASSERT_TRUE(text);
    GradientOptions ofText = of;
    ofText.results = {0};
    Expected<string> whole = differentiateForward(*text, ofText);
    ASSERT_TRUE(whole) << whole.error().message;
    Expected<Kernel> again = engine->compile(*whole);
    ASSERT_TRUE(again) << again.error().message;
    std::vector<Argument> withTangents = arguments.values;
    for (std::size_t number : {0u, 2u, 3u})
      withTangents.push_back(tangents.values[number]);
    EXPECT_EQ(results, runKernel(*again, withTangents));
    Expected<Kernel> unknown =
        engine->compileTangent(attention, {.of = {"key2"}});
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message.find("expected names of arguments"),
              string::npos);
  }
}

} // namespace

//===- GradientTest.cpp - Gradients against differences -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attn-gradient makes of functions of f64, along random directions,
// against difference quotients of the functions, by both lowerings.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/engine.h"
#include "runtime/Reference/Backward.h"
#include "test/Execution/DerivativeCases.h"
#include "test/Execution/KernelCache.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

double dot(const std::vector<double> &x, const std::vector<double> &y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += x[i] * y[i];
  return sum;
}

void check(const DerivativeCase &tested, const string &pipeline) {
  SCOPED_TRACE(tested.name + ", " + pipeline);
  Expected<Engine> engine =
      Engine::create({.cacheDirectory = getCacheDirectory(), .threads = 1});
  ASSERT_TRUE(engine);
  Expected<Kernel> function =
      engine->compile(tested.text, {.pipeline = "reference"});
  ASSERT_TRUE(function) << function.error().message;
  Expected<string> differentiated =
      differentiate(tested.text, {.of = tested.of});
  ASSERT_TRUE(differentiated) << differentiated.error().message;
  Expected<Kernel> gradient =
      engine->compile(*differentiated, {.pipeline = pipeline});
  ASSERT_TRUE(gradient) << gradient.error().message << "\n" << *differentiated;

  Random random(std::hash<string>()(tested.name));
  RandomArguments arguments(function->signature(), tested, random);
  std::vector<std::vector<double>> seeds;
  std::vector<TestTensor> seedTensors;
  std::vector<Argument> all = arguments.values;
  for (const Parameter &result : function->signature().results) {
    TestTensor &seed = seedTensors.emplace_back(result.type, result.shape);
    seed.fill([&] { return random.normal(); });
    all.emplace_back(seed.view());
    seeds.push_back(seed.elements());
  }
  std::vector<std::vector<double>> gradients = runKernel(*gradient, all);
  ASSERT_EQ(gradients.size(), tested.of.size());

  for (std::size_t number = 0; number < tested.of.size(); ++number) {
    const string &name = tested.of[number];
    SCOPED_TRACE(name);
    std::size_t position = arguments.find(name);
    ASSERT_LT(position, arguments.names.size());
    const TensorView *view = arguments.values[position].view();
    ASSERT_TRUE(view);
    TestTensor moved(view->type(),
                     Shape(view->sizes().begin(), view->sizes().end()));
    std::vector<double> direction(gradients[number].size());
    for (double &element : direction)
      element = random.normal();
    std::vector<double> at = TestTensor(arguments.tensors[position]).elements();
    auto moveBy = [&](double distance) {
      std::size_t i = 0;
      moved.fill([&] {
        double value = at[i] + distance * direction[i];
        ++i;
        return value;
      });
      std::vector<Argument> changed = arguments.values;
      changed[position] = moved.view();
      auto results = runKernel(*function, changed);
      double sum = 0;
      for (std::size_t r = 0; r < results.size(); ++r)
        sum += dot(results[r], seeds[r]);
      return sum;
    };
    double expected = reference::differentiate(moveBy, 1e-3);
    double actual = dot(gradients[number], direction);
    // The difference quotient of five points is off by 1e-12 times the fifth
    // derivative along a direction whose elements are about 1.
    EXPECT_NEAR(actual, expected, 1e-6 * std::fmax(1, std::fabs(expected)));
  }
}

TEST(Gradient, IsTheDerivative) {
  for (const DerivativeCase &tested : getDerivativeCases())
    check(tested, "cpu");
  for (const DerivativeCase &tested : selectDerivativeCases(1))
    check(tested, "reference");
}

/// What Engine::compileGradient gives is the gradient of the text, from what
/// the variant's kernel has left.
TEST(Gradient, OfAVariant) {
  attn::Tensor<float, 1> slopes("slopes", 4);
  Attention attention{.queryHeads = 4,
                      .keyValueHeads = 2,
                      .headSize = 8,
                      .batch = 1,
                      .queryLength = 9,
                      .keyLength = 9,
                      .score = alibi(slopes),
                      .mask = causal(),
                      .logSumExp = true};
  Expected<Engine> engine = Engine::create({.threads = 1});
  ASSERT_TRUE(engine);
  Expected<Kernel> forward = engine->compile(attention);
  ASSERT_TRUE(forward) << forward.error().message;
  Expected<Kernel> backward =
      engine->compileGradient(attention, {.of = {"query", "slopes"}});
  ASSERT_TRUE(backward) << backward.error().message;
  Expected<string> text = attention.text();
  ASSERT_TRUE(text);
  Expected<string> whole =
      differentiate(*text, {.of = {"query", "slopes"}, .results = {0}});
  ASSERT_TRUE(whole) << whole.error().message;
  Expected<Kernel> again = engine->compile(*whole);
  ASSERT_TRUE(again) << again.error().message;

  Random random(5);
  RandomArguments arguments(forward->signature(), {}, random);
  TestTensor gradient(ElementType::f32, {1, 4, 9, 8});
  gradient.fill([&] { return random.normal(); });
  std::vector<std::vector<double>> saved =
      runKernel(*forward, arguments.values);
  TestTensor output(ElementType::f32, {1, 4, 9, 8}, saved[0]),
      logSumExp(ElementType::f32, {1, 4, 9}, saved[1]);
  std::vector<Argument> withSaved = arguments.values,
                        withGradient = arguments.values;
  for (const TestTensor *tensor : {&output, &logSumExp, &gradient})
    withSaved.emplace_back(tensor->view());
  withGradient.emplace_back(gradient.view());
  EXPECT_EQ(runKernel(*backward, withSaved), runKernel(*again, withGradient));

  Expected<Kernel> unknown =
      engine->compileGradient(attention, {.of = {"key2"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("expected names of arguments"),
            string::npos);
}

/// The gradients of a function are the same bits on any number of threads, and
/// within rounding what the other lowering computes.
void checkOnThreads(const string &text, const std::vector<string> &of) {
  Expected<string> differentiated = differentiate(text, {.of = of});
  ASSERT_TRUE(differentiated) << differentiated.error().message;
  std::vector<std::vector<double>> expected;
  for (unsigned threads : {0, 1, 2, 3}) { // 0: the reference.
    Expected<Engine> engine =
        Engine::create({.cacheDirectory = getCacheDirectory(),
                        .threads = std::max(threads, 1u)});
    ASSERT_TRUE(engine);
    Expected<Kernel> kernel = engine->compile(
        *differentiated, {.pipeline = threads == 0 ? "reference" : "cpu"});
    ASSERT_TRUE(kernel) << kernel.error().message;
    Random random(7);
    RandomArguments arguments(kernel->signature(), {}, random);
    std::vector<std::vector<double>> actual =
        runKernel(*kernel, arguments.values);
    if (threads == 1) {
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i)
        for (std::size_t j = 0; j < actual[i].size(); ++j)
          EXPECT_NEAR(actual[i][j], expected[i][j], 1e-11) << i << ", " << j;
    } else if (threads > 1) {
      EXPECT_EQ(actual, expected) << threads << " threads";
    }
    expected = actual;
  }
}

/// A head whose queries are divided among iterations.
TEST(Gradient, OfOneHeadOnThreads) {
  for (const char *length : {"3", "37", "200"}) {
    SCOPED_TRACE(length);
    const string type = "tensor<1x1x" + string(length) + "x8xf64>";
    checkOnThreads(
        "func.func @attention(%q: " + type + ", %k: " + type + ", %v: " + type +
            ", %s: tensor<1xf64>) -> " + type +
            " {\n  %init = tensor.empty() : " + type +
            "\n  %o = attn.attention ins(%q, %k, %v : " + type + ", " + type +
            ", " + type + ") outs(%init : " + type +
            ") sink(%s : tensor<1xf64>) mask causal\n  return %o : " + type +
            "\n}\n",
        {"q", "k", "v", "s"});
  }
}

/// What is loaded for distances, for kinds of queries and of keys, for one of
/// these, or at no simple place. Tiles and blocks are partial.
TEST(Gradient, OfCapturesOnThreads) {
  // The kind of a number from 0 on.
  auto kindOf = [](const string &kind, const string &number) {
    return kind + "r = arith.remui " + number + ", %c5 : index " + kind +
           "e = tensor.extract %w[" + kind + "r] : tensor<5xi32> " + kind +
           " = arith.index_cast " + kind + "e : i32 to index ";
  };
  const string kinds =
      "%pp = arith.maxsi %p, %c0 : index " + kindOf("%kp", "%pp") +
      "%jj = arith.divui %j, %c3 : index " + kindOf("%kj", "%jj");
  const string distance = "%d = arith.subi %p, %j : index ";
  const string bucket =
      distance +
      "%near = arith.maxsi %d, %c0 : index "
      "%i = arith.index_cast %near : index to i64 "
      "%f = arith.sitofp %i : i64 to f64 %f1 = arith.addf %f, %one : f64 "
      "%l = math.log %f1 : f64 %li = arith.fptosi %l : f64 to i64 "
      "%e = arith.index_cast %li : i64 to index ";
  // 200 keys on, modulo 256: the place jumps back within a block.
  const string wrapped =
      "%c200 = arith.constant 200 : i64 "
      "%i = arith.index_cast %j : index to i64 "
      "%far = arith.addi %i, %c200 : i64 %n = arith.trunci %far : i64 to i8 "
      "%m = arith.extui %n : i8 to i64 "
      "%e = arith.index_cast %m : i64 to index ";
  // The key, in so many sums that each path through them cannot be followed.
  string sums = "%y0 = arith.addi %j, %c0 : index ";
  for (int i = 0; i < 40; ++i) {
    string before = "%y" + std::to_string(i), after = std::to_string(i + 1);
    sums += "%x" + after + " = arith.addi " + before + ", " + before +
            " : index %y" + after + " = arith.subi %x" + after + ", " + before +
            " : index ";
  }
  struct Load {
    string name, type, code, at;
  };
  const std::vector<Load> loads = {
      {"clamped", "tensor<4x7xf64>",
       distance + "%low = arith.maxsi %d, %cm3 : index "
                  "%high = arith.minsi %low, %c3 : index "
                  "%e = arith.addi %high, %c3 : index ",
       "%h, %e"},
      {"buckets", "tensor<6x4xf64>", bucket, "%e, %h"},
      {"bucketsOfAllHeads", "tensor<6xf64>", bucket, "%e"},
      {"bucketsOfBatch", "tensor<6x2xf64>", bucket, "%e, %b"},
      {"kinds", "tensor<4x4x4xf64>", kinds, "%h, %kp, %kj"},
      {"kindsTransposed", "tensor<4x4xf64>", kinds, "%kj, %kp"},
      {"ofQueries", "tensor<4x4xf64>", kinds, "%h, %kp"},
      {"ofKeys", "tensor<4xf64>", kinds, "%kj"},
      {"keys", "tensor<4x70xf64>", "", "%h, %j"},
      {"queriesOfKinds", "tensor<4x140xf64>",
       kinds + "%e = arith.addi %pp, %c70 : index ", "%kj, %e"},
      {"keysOfKinds", "tensor<4x70xf64>", kinds, "%kp, %j"},
      {"scattered", "tensor<4xf64>",
       kinds + "%e = arith.andi %kp, %kj : index ", "%e"},
      {"sums", "tensor<4x70xf64>", sums, "%h, %y40"},
      {"wrapped", "tensor<4x300xf64>", wrapped, "%h, %e"}};
  const string constants =
      "%c0 = arith.constant 0 : index %c3 = arith.constant 3 : index "
      "%c5 = arith.constant 5 : index %c70 = arith.constant 70 : index "
      "%cm3 = arith.constant -3 : index %one = arith.constant 1.0 : f64 ";
  const std::pair<int, int> lengths[] = {{3, 3}, {37, 70}, {70, 37}};
  const string clauses[] = {"", "mask causal", "mask sliding_window(9, 2)"};
  std::size_t number = 0;
  for (const Load &load : loads) {
    // In turns, with the score's derivative and without.
    bool isFactor = number % 2 == 1;
    auto [queries, keys] = lengths[number % 3];
    const string &clause = clauses[(number + number / 3) % 3];
    ++number;
    string offset = queries == 37 ? "offset(bottom_right) " : "";
    SCOPED_TRACE(load.name + " " + std::to_string(queries) + " " + clause);
    string q = "tensor<2x4x" + std::to_string(queries) + "x8xf64>",
           k = "tensor<2x2x" + std::to_string(keys) + "x8xf64>";
    checkOnThreads(
        "func.func @attention(%q: " + q + ", %k: " + k + ", %v: " + k +
            ", %t: " + load.type + ") -> " + q +
            " {\n  %init = tensor.empty() : " + q +
            "\n  %kinds = arith.constant dense<[0, 3, 1, 1, 2]> : "
            "tensor<5xi32>"
            "\n  %o = attn.attention ins(%q, %k, %v : " +
            q + ", " + k + ", " + k + ") outs(%init : " + q + ") " + offset +
            "score(%s, %b, %h, %p, %j) captures(%a = %t : " + load.type +
            ", %w = %kinds : tensor<5xi32>) {\n" + constants + load.code +
            "%y = tensor.extract %a[" + load.at + "] : " + load.type +
            (isFactor ? " %z = arith.mulf %s, %y : f64"
                      : " %z = arith.addf %s, %y : f64") +
            " attn.yield %z : f64 } " + clause + "\n  return %o : " + q +
            "\n}\n",
        {"q", "k", "v", "t"});
  }
}

} // namespace

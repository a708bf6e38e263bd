//===- ScoreRangeTest.cpp - Scores as large as floats, and scaled ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The softmax over several blocks of keys: of scores that use the whole range
// of f32, and of scores that it scales itself.
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Interpreter.h"
#include "test/Execution/Covering.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index numQueries = 40, numKeys = 150;
const std::vector<ElementType> fastTypes = {ElementType::f32, ElementType::f16,
                                            ElementType::bf16};

/// Scores of which one is the largest float, and the least.
TEST(ScoreRange, attention_a13_only_minus_infinity_hides) {
  constexpr double largest = std::numeric_limits<float>::max();
  for (ElementType type : fastTypes)
    for (double of : {-largest, largest}) {
      KernelText text{.type = type,
                      .clauses = "score bias(%bias : tensor<?xf32>)",
                      .parameters = ", %bias: tensor<?xf32>"};
      TestTensor query = normal(type, {1, 1, numQueries, 1}),
                 key = normal(type, {1, 1, numKeys, 1}, 2),
                 value = normal(type, {1, 1, numKeys, 1}, 3),
                 bias(ElementType::f32, {numKeys});
      bias.fill([&] { return of; });
      Outcome outcome =
          run(text, {query.view(), key.view(), value.view(), bias.view()});
      double mean = 0;
      for (Index j = 0; j < numKeys; ++j)
        mean += *value.get({0, 0, j, 0}) / double(numKeys);
      expectNear(outcome.output, std::vector<double>(numQueries, mean), 1e-2);
      expectNear(outcome.logSumExp, std::vector<double>(numQueries, of), 0);
    }
}

/// Multiples of 2^126 up to 3, which every type has, and a sink of some.
TEST(ScoreRange, attention_a10_scores_and_sinks_as_large_as_floats) {
  for (ElementType type : fastTypes)
    for (double sinkMultiple : {-3, 0, 2, 3}) {
      KernelText text{.type = type,
                      .clauses = R"(scale(1.0) sink(%sink : tensor<1xf32>)
                          score(%s, %b, %h, %p, %j) {
                            %unit = arith.constant 0x7E800000 : f32
                            %r = arith.mulf %s, %unit : f32
                            attn.yield %r : f32
                          })",
                      .parameters = ", %sink: tensor<1xf32>"};
      TestTensor query(type, {1, 1, numQueries, 1}),
          key(type, {1, 1, numKeys, 1}),
          value = normal(type, {1, 1, numKeys, 1}),
          sink(ElementType::f32, {1}, {std::ldexp(sinkMultiple, 126)});
      query.fill([](const Shape &at) { return at[2] % 2 ? 1.0 : -1.0; });
      key.fill([](const Shape &at) { return double(at[2] * 5 % 7) - 3; });
      Outcome outcome =
          run(text, {query.view(), key.view(), value.view(), sink.view()});
      std::vector<double> expected(numQueries, std::ldexp(3, 126));
      expectNear(outcome.logSumExp, expected, 0);
    }
}

/// What a query and a key have as their first two elements; 0 is the rest.
struct LargeScores {
  double query[2], key[2];
  /// Multiplies the first, or the second, element of each key.
  double (*ofFirst)(Index j), (*ofSecond)(Index j);
};

double repeat(Index j) { return double(j * 5 % 7) - 3; }
double grow(Index j) { return double(j / 20 + j % 3); }
double one(Index) { return 1; }

/// The log-sum-exp is held to the digits that f32 has of it.
void expectOfInterpreter(const KernelText &text,
                         const std::vector<Argument> &arguments) {
  std::string written = text.write();
  SCOPED_TRACE(text.pipeline + "\n" + written);
  Expected<Kernel> kernel =
      getEngine().compile(written, {.pipeline = text.pipeline});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  Outcome outcome = run(*kernel, arguments);
  ASSERT_EQ(outcome.error, "");
  auto expected = interpret(written, "large.mlir", "attention", arguments);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  auto compare = [](const std::vector<double> &actual,
                    const std::vector<double> &values,
                    reference::Tolerance tolerance) {
    auto comparison = reference::compare(actual, values, tolerance);
    EXPECT_TRUE(comparison.ok() && comparison->passed)
        << comparison->actual << " for " << comparison->expected << " at "
        << comparison->index;
  };
  compare(outcome.output, (*expected)[0].values,
          reference::toleranceFor(text.type, reference::Quantity::output));
  compare(outcome.logSumExp, (*expected)[1].values, {.bound = 2e-7});
}

/// Products that are exact, as large as floats have them, or so large that
/// scores differ by less than the rounding of what they are multiplied by.
TEST(ScoreRange, attention_a2_products_as_large_as_floats) {
  for (auto [pipeline, type, size, clauses] :
       coverPairs<std::string, ElementType, Index, const char *>(
           everyPipeline, fastTypes, {16, 32}, {"", "mask causal"}))
    for (Index queries : {40, 2}) {
      double large = type == ElementType::f16 ? 0x1p14 : 0x1p63;
      std::vector<LargeScores> cases = {
          {{large / 2, large / 2}, {large, large}, repeat, repeat},
          {{-large, 0}, {large, 0}, repeat, one}};
      // Elsewhere the scale rounds scores to what they differ by.
      if (size == 16)
        cases.push_back({{0x1p11, 1}, {0x1p11, 1}, one, grow});
      KernelText text{.type = type,
                      .keySize = size,
                      .valueSize = size,
                      .clauses = clauses,
                      .pipeline = pipeline};
      for (const LargeScores &scores : cases) {
        TestTensor query(type, {1, 1, queries, size}),
            key(type, {1, 1, 300, size}),
            value = normal(type, {1, 1, 300, size});
        query.fill([&](const Shape &at) {
          return at[3] < 2 ? scores.query[at[3]] : 0;
        });
        key.fill([&](const Shape &at) {
          auto factor = at[3] ? scores.ofSecond : scores.ofFirst;
          return at[3] < 2 ? scores.key[at[3]] * factor(at[2]) : 0;
        });
        expectOfInterpreter(text, {query.view(), key.view(), value.view()});
      }
    }
}

//===----------------------------------------------------------------------===//
// attn.online_attention with a scale
//===----------------------------------------------------------------------===//

/// A kernel that gives the state of 30 queries in 32 lanes.
std::string onlineText(const std::string &scale, const std::string &regions) {
  return R"(
func.func @online(%q: tensor<16x32xf32>, %k: tensor<?x16xf32>,
                  %v: tensor<?x8xf32>, %scale: f32)
    -> (tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %c0 = arith.constant 0 : index
  %c30 = arith.constant 30 : index
  %c100 = arith.constant 100 : index
  %no = arith.constant false
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %e2 = tensor.empty() : tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<32xf32>
  %o = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x32xf32>)
      -> tensor<8x32xf32>
  %m = linalg.fill ins(%none : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
  %l = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x32xf32>, tensor<?x16xf32>, tensor<?x8xf32>)
      outs(%o, %m, %l : tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>)
      at(%c0, %c0, %c100, %c0) queries(%c30) exact(%no) )" +
         scale + regions + R"(
      -> tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>
  return %r#0, %r#1, %r#2 : tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>
})";
}

/// The state of those queries, multiplied by `factor` first.
std::vector<double> runOnline(const std::string &text, double factor,
                              double scale) {
  Expected<Kernel> kernel = getEngine().compile(text);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message << "\n" << text;
    return {};
  }
  TestTensor query = normal(ElementType::f32, {16, 32}),
             key = normal(ElementType::f32, {numKeys, 16}, 2),
             value = normal(ElementType::f32, {numKeys, 8}, 3);
  query.fill([&](const Shape &at) {
    return at[1] < 30 ? *query.get(at) * factor : 0.0;
  });
  std::vector<TestTensor> results = {TestTensor(ElementType::f32, {8, 32}),
                                     TestTensor(ElementType::f32, {32}),
                                     TestTensor(ElementType::f32, {32})};
  std::vector<TensorView> views;
  for (const TestTensor &result : results)
    views.push_back(result.mutableView());
  std::vector<Argument> arguments = {query.view(), key.view(), value.view(),
                                     scale};
  Status status = kernel->run(arguments, views);
  EXPECT_TRUE(status.ok()) << (status ? "" : status.error().message);
  std::vector<double> state;
  for (const TestTensor &result : results) {
    std::vector<double> elements = result.elements();
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (i % 32 < 30)
        state.push_back(elements[i]);
  }
  return state;
}

/// Powers of two scale sums exactly, so it is the same to scale the query.
TEST(ScoreRange, online_attention_scales_before_everything_else) {
  std::string causal = R"( mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %keep = arith.cmpi sle, %j, %p : index
      attn.yield %keep : i1
    })";
  auto scoreOf = [](const std::string &body) {
    return R"( score {
    ^bb0(%s: f32, %b: index, %h: index, %p: index, %j: index):
      )" + body +
           "\nattn.yield %r : f32\n}";
  };
  std::string vectors = scoreOf("%one = arith.constant 1.0 : f32\n"
                                "%r = arith.addf %s, %one : f32");
  std::string positions = scoreOf("%r = math.erf %s : f32");
  for (const std::string &regions :
       {std::string(), causal, vectors, vectors + causal, positions,
        positions + causal})
    for (double scale : {0.25, -0.25, 0.0}) {
      SCOPED_TRACE(regions + std::to_string(scale));
      std::vector<double> expected = runOnline(onlineText("", regions), scale,
                                               /*scale=*/quietNaN);
      EXPECT_EQ(runOnline(onlineText("scale(%scale : f32)", regions), 1, scale),
                expected);
      for (double element : expected)
        EXPECT_TRUE(std::isfinite(element));
    }
}

} // namespace

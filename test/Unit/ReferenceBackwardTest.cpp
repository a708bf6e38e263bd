//===- ReferenceBackwardTest.cpp - The oracle's derivatives ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients against difference quotients of the oracle of the attention, and
// tangents against gradients.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Backward.h"
#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Tangent.h"
#include "test/Unit/DerivativeTesting.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <numeric>
#include <random>

using namespace attn;
using namespace attn::reference;
using namespace attn::test;

namespace {

/// An attention with its operands, and the gradients of its results.
struct Sample {
  Sample(std::uint64_t seed, const RandomTensor::Sizes &query,
         const RandomTensor::Sizes &key, std::int64_t valueSize)
      : random(seed), query(query, random), key(key, random),
        value({key[0], key[1], key[2], valueSize}, random),
        outputGradient({query[0], query[1], query[2], valueSize}, random),
        logSumExpGradient({query[0], query[1], query[2]}, random) {
    problem.query = this->query.view();
    problem.key = this->key.view();
    problem.value = value.view();
  }

  /// The sum of the results times their gradients.
  double sum() const {
    return sumOfResults(attention(problem), outputGradient.elements,
                        logSumExpGradient.elements);
  }

  /// From these results of the attention.
  Expected<BackwardResult> differentiate(const AttentionResult &result,
                                         bool ofLogSumExp = true) const {
    BackwardProblem backward{problem,
                             {result.output.data(), outputGradient.sizes},
                             {result.logSumExp.data(), logSumExpGradient.sizes},
                             outputGradient.view(),
                             {},
                             {}};
    if (ofLogSumExp)
      backward.logSumExpGradient = logSumExpGradient.view();
    return attentionBackward(backward);
  }

  void check() {
    Expected<AttentionResult> result = attention(problem);
    ASSERT_TRUE(result) << result.error().message;
    Expected<BackwardResult> gradients = differentiate(*result);
    ASSERT_TRUE(gradients) << gradients.error().message;
    auto compare = [&](std::vector<double> &of,
                       const std::vector<double> &gradient) {
      expectGradient(of, gradient, [&] { return sum(); }, 1e-8);
    };
    compare(query.elements, gradients->query);
    compare(key.elements, gradients->key);
    compare(value.elements, gradients->value);
    compare(problem.sink, gradients->sink);
    checkTangent(*gradients);
  }

  /// Along a direction, results move as their gradients say.
  void checkTangent(const BackwardResult &gradients) {
    RandomTensor ofQuery(query.sizes, random), ofKey(key.sizes, random),
        ofValue(value.sizes, random),
        ofSink({std::int64_t(problem.sink.size())}, random);
    Expected<TangentResult> tangent = attentionTangent({problem,
                                                        ofQuery.view(),
                                                        ofKey.view(),
                                                        ofValue.view(),
                                                        ofSink.elements,
                                                        {}});
    ASSERT_TRUE(tangent) << tangent.error().message;
    auto dot = [](const std::vector<double> &x, const std::vector<double> &y) {
      return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    EXPECT_NEAR(dot(tangent->output, outputGradient.elements) +
                    dot(tangent->logSumExp, logSumExpGradient.elements),
                dot(gradients.query, ofQuery.elements) +
                    dot(gradients.key, ofKey.elements) +
                    dot(gradients.value, ofValue.elements) +
                    dot(gradients.sink, ofSink.elements),
                1e-8);
  }

  std::mt19937_64 random;
  RandomTensor query, key, value, outputGradient, logSumExpGradient;
  AttentionProblem problem;
};

TEST(ReferenceBackward, PlainAndGrouped) {
  Sample sample(1, {2, 4, 3, 5}, {2, 2, 4, 5}, 2);
  sample.check();
}

TEST(ReferenceBackward, MaskScoreSinkAndDropout) {
  Sample sample(2, {1, 2, 4, 3}, {1, 1, 5, 3}, 3);
  sample.problem.bottomRight = true;
  sample.problem.sink = {0.5, -1};
  sample.problem.dropout = {0.3, 17, 2};
  sample.problem.mask = [](auto, auto, std::int64_t p, std::int64_t j) {
    return std::optional<bool>(j <= p);
  };
  sample.problem.score = [](double s, auto, std::int64_t h, std::int64_t p,
                            std::int64_t j) {
    return std::optional<double>(2 * std::tanh(s / 2) -
                                 0.1 * double(h + 1) * double(p - j));
  };
  sample.check();
}

/// The first query sees nothing; hidden keys hold NaN.
TEST(ReferenceBackward, WhatIsHiddenAddsNothing) {
  Sample sample(3, {1, 1, 3, 2}, {1, 1, 4, 2}, 2);
  sample.problem.mask = [](auto, auto, std::int64_t p, std::int64_t j) {
    return std::optional<bool>(j < p);
  };
  sample.key.elements[7] = sample.value.elements[6] = std::nan("");
  sample.problem.sink = {};
  Expected<AttentionResult> result = attention(sample.problem);
  ASSERT_TRUE(result);
  Expected<BackwardResult> gradients =
      sample.differentiate(*result, /*ofLogSumExp=*/false);
  ASSERT_TRUE(gradients);
  for (const auto *gradient :
       {&gradients->query, &gradients->key, &gradients->value})
    for (double element : *gradient)
      EXPECT_TRUE(std::isfinite(element));
  EXPECT_EQ(gradients->query[0], 0);
  EXPECT_EQ(gradients->query[1], 0);
  EXPECT_EQ(gradients->value[6], 0);
}

TEST(ReferenceBackward, PackedSequences) {
  Sample sample(4, {1, 2, 6, 2}, {1, 1, 7, 2}, 3);
  sample.problem.cuQuery = {0, 2, 5};
  sample.problem.cuKey = {1, 4, 7};
  sample.problem.mask = [](auto, auto, std::int64_t p, std::int64_t j) {
    return std::optional<bool>(j <= p);
  };
  sample.check();
}

/// Scores |s|: that of the first query, of zeros, is at the kink.
TEST(ReferenceBackward, NothingIsKnownAtAKink) {
  Sample sample(5, {1, 1, 3, 2}, {1, 1, 4, 2}, 2);
  sample.query.elements[0] = sample.query.elements[1] = 0;
  sample.problem.score = [](double s, auto, auto, auto, auto) {
    return std::optional<double>(std::fabs(s));
  };
  Expected<AttentionResult> result = attention(sample.problem);
  ASSERT_TRUE(result);
  Expected<BackwardResult> gradients = sample.differentiate(*result);
  ASSERT_TRUE(gradients);
  for (std::size_t i = 0; i < gradients->query.size(); ++i)
    EXPECT_EQ(gradients->scales.query[i] < 0, i < 2) << i;
  for (double scale : gradients->scales.key) // All see the first query.
    EXPECT_LT(scale, 0);
  for (double scale : gradients->scales.value)
    EXPECT_GT(scale, 0);

  Expected<TangentResult> tangent = attentionTangent(
      {sample.problem, sample.outputGradient.view(), {}, {}, {}, {}});
  ASSERT_TRUE(tangent);
  for (std::size_t i = 0; i < tangent->output.size(); ++i)
    EXPECT_EQ(tangent->scales.output[i] < 0, i < 2) << i;
}

/// Steps get smaller until none reaches over a kink.
TEST(ReferenceBackward, StepsBesideAKink) {
  for (double distance : {1e-3, 1e-4, 3e-6, 1e-6}) {
    Slope slope =
        findSlope([&](double x) { return std::fabs(x - distance); }, 1e-4);
    EXPECT_TRUE(slope.isKnown) << distance;
    EXPECT_NEAR(slope.value, -1, 1e-8) << distance;
  }
  EXPECT_FALSE(
      findSlope([&](double x) { return std::fabs(x - 1e-8); }, 1e-4).isKnown);
  EXPECT_FALSE(
      findSlope([&](double x) { return x < 0 ? 1.0 : 0.0; }, 1e-4).isKnown);
  EXPECT_TRUE(
      findSlope([&](double x) { return std::exp(9 * x); }, 1e-4).isKnown);
}

/// Steps are small enough for scores that move at any speed, each differently,
/// as those that fall with the distance do while their slope moves.
TEST(ReferenceBackward, TangentsOfFastScores) {
  for (double speed = 4; speed < 400; speed *= 1.3) {
    SCOPED_TRACE(speed);
    Sample sample(8, {1, 1, 1, 2}, {1, 1, 4, 2}, 3);
    auto moveScore = [&](double time) -> decltype(AttentionProblem::score) {
      return [=](double s, auto, auto, auto, std::int64_t j) {
        return std::optional<double>(s - (0.1 + time * speed) * double(j));
      };
    };
    sample.problem.score = moveScore(0);
    Expected<AttentionResult> now = attention(sample.problem);
    ASSERT_TRUE(now);
    Expected<TangentResult> tangent =
        attentionTangent({sample.problem, {}, {}, {}, {}, moveScore});
    ASSERT_TRUE(tangent);
    double mean = 0;
    std::array<double, 3> expected = {};
    for (std::size_t j = 0; j < 4; ++j) {
      double product = 0;
      for (std::size_t d = 0; d < 2; ++d)
        product += sample.query.elements[d] * sample.key.elements[2 * j + d];
      double weight = std::exp(product / std::sqrt(2.0) - 0.1 * double(j) -
                               now->logSumExp[0]),
             ofScore = -speed * double(j);
      mean += weight * ofScore;
      for (std::size_t d = 0; d < 3; ++d)
        expected[d] += weight * ofScore * sample.value.elements[3 * j + d];
    }
    EXPECT_NEAR(tangent->logSumExp[0], mean, 1e-10 * speed);
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_NEAR(tangent->output[d], expected[d] - mean * now->output[d],
                  1e-10 * speed);
  }
}

/// With the scales, tolerances are wide enough for results that are rounded,
/// and too narrow for what lacks a term.
TEST(ReferenceBackward, ScalesAreOfRounding) {
  for (auto [type, unit] : {std::pair(ElementType::f32, 0x1p-24),
                            std::pair(ElementType::f16, 0x1p-11),
                            std::pair(ElementType::bf16, 0x1p-8)}) {
    SCOPED_TRACE(nameOf(type));
    Sample sample(6, {1, 2, 24, 16}, {1, 1, 64, 16}, 16);
    sample.problem.sumRounding = 0x1p-24 / unit;
    Expected<AttentionResult> result = attention(sample.problem);
    ASSERT_TRUE(result);
    Expected<BackwardResult> right = sample.differentiate(*result, false);
    ASSERT_TRUE(right);
    auto agrees = [&](const BackwardResult &other) {
      Tolerance tolerance = toleranceFor(type, Quantity::gradient);
      auto passes = [&](std::vector<double> BackwardNumbers::*of) {
        Expected<Comparison> comparison =
            compare(other.*of, (*right).*of, tolerance, right->scales.*of);
        return comparison && comparison->passed;
      };
      return std::pair(passes(&BackwardNumbers::query),
                       passes(&BackwardNumbers::key));
    };
    AttentionResult rounded = *result;
    for (std::size_t i = 0; i < rounded.output.size(); ++i)
      rounded.output[i] *= 1 + (i % 2 ? unit : -unit);
    Expected<BackwardResult> near = sample.differentiate(rounded, false);
    ASSERT_TRUE(near);
    EXPECT_EQ(agrees(*near), std::pair(true, true));

    AttentionResult noDelta = *result;
    noDelta.output.assign(noDelta.output.size(), 0);
    Expected<BackwardResult> without = sample.differentiate(noDelta, false);
    ASSERT_TRUE(without);
    EXPECT_EQ(agrees(*without), std::pair(false, false));

    sample.problem.mask = [](auto, auto, auto, std::int64_t j) {
      return std::optional<bool>(j < 48);
    };
    Expected<BackwardResult> fewer = sample.differentiate(*result, false);
    ASSERT_TRUE(fewer);
    EXPECT_EQ(agrees(*fewer), std::pair(false, false));
  }
}

/// Of a row that sees one key, all that the gradient of the query is a sum of
/// cancels.
TEST(ReferenceBackward, ScalesOfWhatCancels) {
  Sample sample(7, {1, 1, 1, 2}, {1, 1, 1, 2}, 4);
  Expected<AttentionResult> result = attention(sample.problem);
  ASSERT_TRUE(result);
  Expected<BackwardResult> gradients = sample.differentiate(*result, false);
  ASSERT_TRUE(gradients);
  double terms = 0;
  for (std::size_t d = 0; d < 4; ++d)
    terms = std::hypot(terms, sample.outputGradient.elements[d] *
                                  sample.value.elements[d]);
  for (std::size_t d = 0; d < 2; ++d) {
    double scale = gradients->scales.query[d] /
                   std::fabs(sample.key.elements[d] / std::sqrt(2.0));
    EXPECT_LT(std::fabs(gradients->query[d]), 1e-14);
    EXPECT_GT(scale, terms);
    EXPECT_LT(scale, 3 * terms);
  }
}

} // namespace

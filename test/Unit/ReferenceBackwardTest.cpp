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
#include "runtime/Reference/Tangent.h"
#include "test/Unit/DerivativeTesting.h"

#include "gtest/gtest.h"

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

  void check() {
    Expected<AttentionResult> result = attention(problem);
    ASSERT_TRUE(result) << result.error().message;
    BackwardProblem backward{
        problem,
        {result->output.data(), outputGradient.sizes},
        {result->logSumExp.data(), logSumExpGradient.sizes},
        outputGradient.view(),
        logSumExpGradient.view(),
        /*visit=*/{}};
    Expected<BackwardResult> gradients = attentionBackward(backward);
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
    Expected<AttentionResult> tangent = attentionTangent({problem,
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
  BackwardProblem backward{
      sample.problem,
      {result->output.data(), sample.outputGradient.sizes},
      {result->logSumExp.data(), sample.logSumExpGradient.sizes},
      sample.outputGradient.view(),
      {},
      {}};
  Expected<BackwardResult> gradients = attentionBackward(backward);
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

} // namespace

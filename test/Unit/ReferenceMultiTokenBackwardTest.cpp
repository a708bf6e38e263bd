//===- ReferenceMultiTokenBackwardTest.cpp - The oracle's gradients -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against difference quotients of the oracle of multi-token attention.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Compare.h"
#include "runtime/Reference/MultiTokenBackward.h"
#include "test/Unit/DerivativeTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace attn;
using namespace attn::reference;
using namespace attn::test;

namespace {

/// Four heads, of which pairs share keys, with five rows of output of seven
/// queries.
struct Sample {
  explicit Sample(std::uint64_t seed) : random(seed) {
    problem.attention.query = query.view();
    problem.attention.key = key.view();
    problem.attention.value = value.view();
    problem.outputLength = 5;
  }

  /// The sum of the results times their gradients.
  double sum() const {
    return sumOfResults(multiTokenAttention(problem), outputGradient.elements,
                        logSumExpGradient.elements);
  }

  void check() {
    MultiTokenBackwardProblem backward{problem, outputGradient.view(),
                                       logSumExpGradient.view(),
                                       /*visit=*/{}};
    Expected<MultiTokenBackwardResult> result =
        multiTokenAttentionBackward(backward);
    ASSERT_TRUE(result) << result.error().message;
    compare("query", query.elements, result->attention.query);
    compare("key", key.elements, result->attention.key);
    compare("value", value.elements, result->attention.value);
    compare("sink", problem.attention.sink, result->attention.sink);
    for (auto [name, tensor, view, gradient] :
         {std::tuple("kernel before", &kernelBefore, &problem.before.kernel,
                     &result->before.kernel),
          std::tuple("mixing before", &mixing, &problem.before.mixing,
                     &result->before.mixing),
          std::tuple("kernel after", &kernelAfter, &problem.after.kernel,
                     &result->after.kernel),
          std::tuple("mixing after", &mixing, &problem.after.mixing,
                     &result->after.mixing)})
      if (*view)
        compare(name, tensor->elements, *gradient);
      else
        EXPECT_TRUE(gradient->empty()) << name;
  }

  void compare(const std::string &name, std::vector<double> &of,
               const std::vector<double> &gradient) {
    SCOPED_TRACE(name);
    expectGradient(of, gradient, [&] { return sum(); }, 1e-7);
  }

  std::mt19937_64 random;
  RandomTensor query{{2, 4, 7, 3}, random}, key{{2, 2, 6, 3}, random},
      value{{2, 2, 6, 2}, random}, outputGradient{{2, 4, 5, 2}, random},
      logSumExpGradient{{2, 4, 5}, random}, kernelBefore{{4, 3, 5}, random},
      kernelAfter{{4, 2, 2, 3}, random}, mixing{{2, 2, 2}, random};
  MultiTokenProblem problem;
};

void makeCausal(Sample &sample) {
  sample.problem.attention.bottomRight = true;
  sample.problem.attention.mask = [](std::int64_t, std::int64_t h,
                                     std::int64_t p, std::int64_t j) {
    return j <= p && (j + h) % 5 != 3; // Heads see others.
  };
}

TEST(ReferenceMultiTokenBackward, OfNoStages) { Sample(1).check(); }

TEST(ReferenceMultiTokenBackward, OfStagesBefore) {
  Sample sample(2);
  makeCausal(sample);
  sample.problem.before.kernel = sample.kernelBefore.view();
  sample.check();
  sample.problem.before.mixing = sample.mixing.view();
  sample.check();
}

TEST(ReferenceMultiTokenBackward, OfStagesAfter) {
  Sample sample(3);
  makeCausal(sample);
  sample.problem.after.mixing = sample.mixing.view();
  sample.check();
  sample.problem.after.mixing.reset();
  sample.problem.after.kernel = sample.kernelAfter.view();
  sample.check();
}

TEST(ReferenceMultiTokenBackward, OfBothSidesWithAll) {
  Sample sample(4);
  makeCausal(sample);
  sample.problem.before.kernel = sample.kernelBefore.view();
  sample.problem.before.mixing = sample.mixing.view();
  sample.problem.after.kernel = sample.kernelAfter.view();
  sample.problem.attention.sink = {0.5, -1, 2, 0};
  sample.problem.attention.dropout = {0.3, 7, 1};
  sample.problem.attention.score = [](double s, std::int64_t, std::int64_t h,
                                      std::int64_t p, std::int64_t j) {
    return 2 * std::tanh(s / 2) + 0.1 * double(h) * double(j - p);
  };
  sample.check();
}

/// A hidden position adds nothing, whatever it holds, and a row of hidden ones
/// gives its log-sum-exp's gradient to the sink.
TEST(ReferenceMultiTokenBackward, OfHiddenPositions) {
  Sample sample(5);
  sample.problem.before.kernel = sample.kernelBefore.view();
  sample.problem.after.mixing = sample.mixing.view();
  sample.problem.attention.sink = {0.5, -1, 2, 0};
  sample.problem.attention.mask = [](std::int64_t, std::int64_t, std::int64_t,
                                     std::int64_t j) { return j != 2; };
  for (RandomTensor *tensor : {&sample.key, &sample.value})
    for (std::size_t head = 0; head < 4; ++head)
      tensor->elements[(head * 6 + 2) * std::size_t(tensor->sizes[3])] =
          std::nan("");
  MultiTokenBackwardProblem backward{
      sample.problem, sample.outputGradient.view(), {}, {}};
  Expected<MultiTokenBackwardResult> result =
      multiTokenAttentionBackward(backward);
  ASSERT_TRUE(result);
  for (double element : result->attention.query)
    EXPECT_TRUE(std::isfinite(element));
  for (double element : result->before.kernel)
    EXPECT_TRUE(std::isfinite(element));
  EXPECT_EQ(result->attention.key[6], 0);

  backward.attention.attention.mask = [](std::int64_t, std::int64_t,
                                         std::int64_t,
                                         std::int64_t) { return false; };
  backward.logSumExpGradient = sample.logSumExpGradient.view();
  result = multiTokenAttentionBackward(backward);
  ASSERT_TRUE(result);
  for (double element : result->attention.query)
    EXPECT_EQ(element, 0);
  double sum = 0;
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t r = 0; r < 5; ++r)
      sum += sample.logSumExpGradient.elements[b * 20 + r];
  EXPECT_NEAR(result->attention.sink[0], sum, 1e-12);
}

/// Of two batch entries whose gradients are opposite, all that the gradients of
/// stages are sums of cancels, but not its errors.
TEST(ReferenceMultiTokenBackward, ScalesOfWhatCancels) {
  Sample sample(7);
  makeCausal(sample);
  sample.problem.before.kernel = sample.kernelBefore.view();
  sample.problem.before.mixing = sample.mixing.view();
  sample.problem.after.kernel = sample.kernelAfter.view();
  auto repeat = [](RandomTensor &tensor, double factor) {
    std::size_t half = tensor.elements.size() / 2;
    for (std::size_t i = 0; i < half; ++i)
      tensor.elements[half + i] = factor * tensor.elements[i];
  };
  for (RandomTensor *tensor : {&sample.query, &sample.key, &sample.value})
    repeat(*tensor, 1);
  auto differentiate = [&](double factor) {
    repeat(sample.outputGradient, factor);
    return multiTokenAttentionBackward(
        {sample.problem, sample.outputGradient.view(), {}, {}});
  };
  Expected<MultiTokenBackwardResult> ofOne = differentiate(0),
                                     ofBoth = differentiate(-1);
  ASSERT_TRUE(ofOne && ofBoth);
  auto check = [](const std::vector<double> &gradients,
                  const std::vector<double> &scales,
                  const std::vector<double> &scalesOfOne) {
    ASSERT_EQ(scales.size(), gradients.size());
    ASSERT_GT(scales.size(), 0u);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      EXPECT_NEAR(gradients[i], 0, 1e-13);
      EXPECT_GT(scales[i], 1e-3);
      EXPECT_NEAR(scales[i], std::sqrt(2) * scalesOfOne[i], 1e-12 * scales[i]);
    }
  };
  check(ofBoth->before.kernel, ofBoth->scalesBefore.kernel,
        ofOne->scalesBefore.kernel);
  check(ofBoth->before.mixing, ofBoth->scalesBefore.mixing,
        ofOne->scalesBefore.mixing);
  check(ofBoth->after.kernel, ofBoth->scalesAfter.kernel,
        ofOne->scalesAfter.kernel);
}

/// With the scales, tolerances are wide enough for operands that are rounded,
/// which is more than their sums are, and too narrow for what lacks a term.
TEST(ReferenceMultiTokenBackward, ScalesAreOfRounding) {
  Sample sample(8);
  makeCausal(sample);
  sample.problem.before.kernel = sample.kernelBefore.view();
  sample.problem.before.mixing = sample.mixing.view();
  sample.problem.after.kernel = sample.kernelAfter.view();
  auto differentiate = [&] {
    return multiTokenAttentionBackward(
        {sample.problem, sample.outputGradient.view(), {}, {}});
  };
  Expected<MultiTokenBackwardResult> right = differentiate();
  ASSERT_TRUE(right);
  auto agrees = [&](const MultiTokenBackwardResult &other) {
    auto passes = [](const std::vector<double> &actual,
                     const std::vector<double> &expected,
                     const std::vector<double> &scales) {
      Expected<Comparison> comparison = reference::compare(
          actual, expected, toleranceFor(ElementType::f32, Quantity::gradient),
          scales);
      return comparison && comparison->passed;
    };
    return std::tuple(passes(other.before.kernel, right->before.kernel,
                             right->scalesBefore.kernel),
                      passes(other.before.mixing, right->before.mixing,
                             right->scalesBefore.mixing),
                      passes(other.after.kernel, right->after.kernel,
                             right->scalesAfter.kernel));
  };
  std::vector<double> query = sample.query.elements,
                      value = sample.value.elements;
  for (std::vector<double> *elements :
       {&sample.query.elements, &sample.value.elements})
    for (double &element : *elements)
      element = float(element);
  Expected<MultiTokenBackwardResult> near = differentiate();
  ASSERT_TRUE(near);
  EXPECT_EQ(agrees(*near), std::tuple(true, true, true));

  sample.query.elements = query;
  sample.value.elements = value;
  auto mask = sample.problem.attention.mask;
  sample.problem.attention.mask = [mask](std::int64_t b, std::int64_t h,
                                         std::int64_t p, std::int64_t j) {
    return p == 5 && j == 3 ? false : mask(b, h, p, j);
  };
  Expected<MultiTokenBackwardResult> fewer = differentiate();
  ASSERT_TRUE(fewer);
  EXPECT_EQ(agrees(*fewer), std::tuple(false, false, false));
}

TEST(ReferenceMultiTokenBackward, SaysWhatIsMalformed) {
  Sample sample(6);
  sample.problem.before.kernel = sample.mixing.view();
  MultiTokenBackwardProblem backward{
      sample.problem, sample.outputGradient.view(), {}, {}};
  Expected<MultiTokenBackwardResult> result =
      multiTokenAttentionBackward(backward);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("kernel: expected (Hq, [ch,] cq, ck)"),
            std::string::npos);
}

} // namespace

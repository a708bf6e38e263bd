//===- DerivativeTesting.h - Gradients of the float64 oracles --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_DERIVATIVETESTING_H
#define ATTN_TEST_UNIT_DERIVATIVETESTING_H

#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Backward.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <vector>

namespace attn::test {

/// A tensor of normal numbers.
struct RandomTensor {
  using Sizes = std::vector<std::int64_t>;

  RandomTensor(const Sizes &sizes, std::mt19937_64 &random) : sizes(sizes) {
    std::normal_distribution<double> normal;
    std::int64_t count = 1;
    for (std::int64_t size : sizes)
      count *= size;
    for (std::int64_t i = 0; i < count; ++i)
      elements.push_back(normal(random));
  }
  TensorView view() const { return {elements.data(), std::span(sizes)}; }

  Sizes sizes;
  std::vector<double> elements;
};

/// The sum of the results times their gradients.
inline double sumOfResults(const Expected<reference::AttentionResult> &result,
                           const std::vector<double> &outputGradient,
                           const std::vector<double> &logSumExpGradient) {
  EXPECT_TRUE(result) << result.error().message;
  double sum = 0;
  for (std::size_t i = 0; i < result->output.size(); ++i)
    sum += result->output[i] * outputGradient[i];
  for (std::size_t i = 0; i < result->logSumExp.size(); ++i)
    if (std::isfinite(result->logSumExp[i]))
      sum += result->logSumExp[i] * logSumExpGradient[i];
  return sum;
}

/// Expects `gradient` to be that of `sum` with respect to the elements `of`,
/// which it reads.
inline void expectGradient(std::vector<double> &of,
                           const std::vector<double> &gradient,
                           const std::function<double()> &sum,
                           double tolerance) {
  ASSERT_EQ(of.size(), gradient.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    double before = of[i];
    double expected = reference::differentiate(
        [&](double x) {
          of[i] = before + x;
          double result = sum();
          of[i] = before;
          return result;
        },
        1e-3);
    EXPECT_NEAR(gradient[i], expected, tolerance) << "element " << i;
  }
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_DERIVATIVETESTING_H

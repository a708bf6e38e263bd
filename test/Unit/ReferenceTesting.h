//===- ReferenceTesting.h - Problems for the float64 oracle ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small cases whose answers are computed by hand. Most have Dk = 1 and scale 1,
// so that a score is simply query * key.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_REFERENCETESTING_H
#define ATTN_TEST_UNIT_REFERENCETESTING_H

#include "runtime/Reference/Attention.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

using reference::AttentionProblem;
using reference::AttentionResult;

using Index = std::int64_t;

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();

/// A (B, H, S, D) tensor.
struct Tensor {
  std::array<Index, 4> shape;
  std::vector<double> data;

  Tensor(std::array<Index, 4> shape, std::vector<double> values)
      : shape(shape), data(std::move(values)) {
    EXPECT_EQ(Index(data.size()), shape[0] * shape[1] * shape[2] * shape[3]);
  }
  Tensor(std::array<Index, 4> shape, double value)
      : Tensor(shape, std::vector<double>(
                          shape[0] * shape[1] * shape[2] * shape[3], value)) {}
  operator TensorView() const { return TensorView(data.data(), shape); }
};

inline AttentionProblem problem(const Tensor &query, const Tensor &key,
                                const Tensor &value) {
  AttentionProblem result;
  result.query = query;
  result.key = key;
  result.value = value;
  result.scale = 1;
  return result;
}

inline AttentionResult run(const AttentionProblem &problem) {
  Expected<AttentionResult> result = reference::attention(problem);
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
  return result ? *result : AttentionResult();
}

inline std::string failure(const AttentionProblem &problem) {
  Expected<AttentionResult> result = reference::attention(problem);
  return result ? "no error" : result.error().message;
}

inline void expectNear(const std::vector<double> &got,
                       const std::vector<double> &expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(got[i])) << "at " << i;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(got[i], expected[i]) << "at " << i;
    else
      EXPECT_NEAR(got[i], expected[i], 1e-14 * (1 + std::abs(expected[i])))
          << "at " << i;
  }
}

inline std::optional<bool> causal(Index, Index, Index p, Index j) {
  return j <= p;
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_REFERENCETESTING_H

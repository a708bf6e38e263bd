//===- ReferenceMultiTokenTest.cpp - What the oracle refuses --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiToken.h"

#include "gtest/gtest.h"

#include <array>
#include <string>

using namespace attn;
using namespace attn::reference;

using Index = std::int64_t;

namespace {

/// Two heads of one query and key, and what every stage may look at.
const std::vector<double> ones(64, 1.0);

MultiTokenProblem createProblem() {
  MultiTokenProblem problem;
  problem.attention.query = problem.attention.key = problem.attention.value =
      TensorView(ones.data(), std::array<Index, 4>{1, 2, 3, 1});
  return problem;
}

template <std::size_t Rank> TensorView view(std::array<Index, Rank> shape) {
  return TensorView(ones.data(), shape);
}

void expectError(const MultiTokenProblem &problem, const std::string &part) {
  Expected<AttentionResult> result = multiTokenAttention(problem);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find(part), std::string::npos)
      << result.error().message;
}

TEST(ReferenceMultiToken, Sink) {
  MultiTokenProblem problem = createProblem();
  problem.attention.sink = {1, 2};
  EXPECT_TRUE(multiTokenAttention(problem).ok());
  problem.attention.sink = {1, 2, 3, 4, 5, 6};
  expectError(problem, "size of sink: expected the 2 query heads, got 6");
}

TEST(ReferenceMultiToken, Stages) {
  MultiTokenProblem problem = createProblem();
  problem.before.kernel = view<4>({2, 2, 3, 1});
  EXPECT_TRUE(multiTokenAttention(problem).ok());
  problem.before.mixing = view<3>({1, 2, 2});
  expectError(problem, "mixing: expected none beside a kernel with heads");
  problem = createProblem();
  problem.after.kernel = view<3>({2, 0, 1});
  expectError(problem, "cq of at least 1");
  problem.after.kernel = view<3>({2, 1, 2});
  expectError(problem, "an odd ck");
  problem.after.kernel = view<4>({2, 3, 1, 1});
  expectError(problem, "ch that divides Hq");
}

} // namespace

//===- ReferenceErrorsTest.cpp - Malformed problems for the oracle --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/ReferenceTesting.h"

using namespace attn;
using namespace attn::reference;
using namespace attn::test;

TEST(Attention, MalformedProblems) {
  Tensor q({2, 4, 3, 8}, 0.0), k({2, 2, 5, 8}, 0.0), v({2, 2, 5, 6}, 0.0);
  AttentionProblem good = problem(q, k, v);
  ASSERT_TRUE(attention(good).ok());
  auto broken = [&](auto change) {
    AttentionProblem p = good;
    change(p);
    return failure(p);
  };
  auto as = [](const Tensor &tensor, std::array<Index, 4> shape) {
    return TensorView(tensor.data.data(), shape);
  };

  EXPECT_EQ(broken([&](auto &p) { p.query = TensorView(); }),
            "query: expected 4 dimensions, got 0");
  EXPECT_EQ(broken([&](auto &p) {
              p.query = TensorView(nullptr, ElementType::i32, q.shape, true);
            }),
            "query: expected a float type, got i32");
  EXPECT_EQ(broken([&](auto &p) {
              p.query = TensorView(nullptr, ElementType::f64, q.shape, true);
            }),
            "query: the data pointer is null");
  EXPECT_EQ(broken([&](auto &p) { p.query = as(q, {1, 4, 3, 8}); }),
            "batch of key: expected 1, got 2");
  EXPECT_EQ(broken([&](auto &p) { p.value = as(v, {1, 2, 5, 6}); }),
            "batch of value: expected 2, got 1");
  EXPECT_EQ(broken([&](auto &p) { p.value = as(v, {2, 1, 5, 6}); }),
            "heads of value: expected 2, got 1");
  EXPECT_EQ(broken([&](auto &p) { p.value = as(v, {2, 2, 4, 6}); }),
            "length of value: expected 5, got 4");
  EXPECT_EQ(broken([&](auto &p) { p.query = as(q, {2, 4, 3, 7}); }),
            "head size of key: expected 7, got 8");
  EXPECT_EQ(broken([&](auto &p) { p.query = as(q, {2, 3, 3, 8}); }),
            "heads of query: expected a multiple of the 2 heads of key, got 3");
  EXPECT_EQ(broken([&](auto &p) {
              p.query = as(q, {1, 1, Index(1) << 40, 0});
              p.key = as(k, {1, 1, 0, 0});
              p.value = as(v, {1, 1, 0, Index(1) << 40});
            }),
            "output: the number of elements overflows");
  EXPECT_EQ(broken([](auto &p) { p.sink = {1}; }),
            "size of sink: expected 4, got 1");
  EXPECT_EQ(broken([](auto &p) { p.offsets = {1, 2, 3}; }),
            "size of offsets: expected 0, 1 or 2, got 3");
  EXPECT_EQ(broken([](auto &p) {
              p.offsets = {1};
              p.bottomRight = true;
            }),
            "expected offsets or bottomRight, not both");
  for (double rate : {1.0, -0.5, quietNaN})
    EXPECT_TRUE(broken([=](auto &p) {
                  p.dropout.emplace(rate, 0, 0);
                }).starts_with("dropout rate: expected a number in [0, 1)"));
  EXPECT_EQ(broken([](auto &p) { p.cuQuery = p.cuKey = {0, 3}; }),
            "batch of query: expected 1 in a packed batch, got 2");
}

TEST(Attention, MalformedPackedProblems) {
  Tensor q({1, 1, 3, 1}, 0.0), k({1, 1, 5, 1}, 0.0);
  AttentionProblem p = problem(q, k, k);
  auto broken = [&](std::vector<Index> cuQuery, std::vector<Index> cuKey) {
    p.cuQuery = std::move(cuQuery);
    p.cuKey = std::move(cuKey);
    return failure(p);
  };
  EXPECT_EQ(broken({}, {0, 3}), "expected cuQuery beside cuKey");
  EXPECT_EQ(broken({0, 3}, {0, 3, 5}), "size of cuKey: expected 2, got 3");
  EXPECT_EQ(broken({0, 4}, {0, 5}), "cuQuery[1]: expected 0 to 3, got 4");
  EXPECT_EQ(broken({-1, 3}, {0, 5}), "cuQuery[0]: expected 0 to 3, got -1");
  EXPECT_EQ(broken({0, 3, 3}, {0, 4, 2}),
            "cuKey[2]: expected at least 4, the entry before it, got 2");
  p.offsets = {1, 2};
  EXPECT_EQ(broken({0, 3}, {0, 5}), "size of offsets: expected 0 or 1, got 2");
}

//===- ReferenceAttentionTest.cpp - The float64 oracle -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Philox.h"
#include "test/Unit/ReferenceTesting.h"

#include <tuple>

using namespace attn;
using namespace attn::reference;
using namespace attn::test;

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

TEST(Attention, TwoKeys) {
  // Scores 0 and log 3, so P = (1/4, 3/4).
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {0, std::log(3)}),
      v({1, 1, 2, 2}, {1, 10, 5, 50});
  AttentionResult result = run(problem(q, k, v));
  expectNear(result.output, {4, 40});
  expectNear(result.logSumExp, {std::log(4)});
}

TEST(Attention, DefaultScaleIsOneOverRootDk) {
  // dot = 4 log 3, Dk = 16, so the scores are log 3 and 0.
  Tensor q({1, 1, 1, 16}, 1), k({1, 1, 2, 16}, 0.0), v({1, 1, 2, 1}, {0, 4});
  for (int d = 0; d < 16; ++d)
    k.data[16 + d] = std::log(3) / 4;
  AttentionProblem p = problem(q, k, v);
  p.scale.reset();
  expectNear(run(p).output, {3});
}

TEST(Attention, ScaleMayBeNegative) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {0, -std::log(3)}),
      v({1, 1, 2, 1}, {0, 4});
  AttentionProblem p = problem(q, k, v);
  p.scale = -1;
  expectNear(run(p).output, {3});
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {5000, 5000}),
      v({1, 1, 2, 1}, {2, 4});
  AttentionResult result = run(problem(q, k, v));
  expectNear(result.output, {3});
  expectNear(result.logSumExp, {5000 + std::log(2)});
}

TEST(Attention, NarrowTypesAndStrides) {
  // Query as bf16, keys as f16 in a (B, S, H, D) buffer, values f32 reversed.
  bf16 q[] = {bf16(1), bf16(2)};
  f16 k[] = {f16(0), f16(1), f16(2), f16(3)}; // S0H0 S0H1 S1H0 S1H1
  float v[] = {4, 3, 2, 1};
  AttentionProblem p;
  p.query = TensorView(q, std::array<Index, 4>{1, 2, 1, 1});
  p.key = TensorView(k, std::array<Index, 4>{1, 2, 2, 1},
                     std::array<Index, 4>{4, 1, 2, 1});
  p.value = TensorView(v + 3, std::array<Index, 4>{1, 2, 2, 1},
                       std::array<Index, 4>{-4, -2, -1, 1});
  auto mix = [](double s0, double v0, double s1, double v1) {
    return (std::exp(s0) * v0 + std::exp(s1) * v1) /
           (std::exp(s0) + std::exp(s1));
  };
  expectNear(run(p).output, {mix(0, 1, 2, 2), mix(2, 3, 6, 4)});
}

TEST(Attention, GroupedHeadsReadTheirKeyHead) {
  // Hq = 4, Hkv = 2: heads 0, 1 read key head 0; heads 2, 3 read key head 1.
  Tensor q({2, 4, 1, 1}, 1), k({2, 2, 1, 1}, 1),
      v({2, 2, 1, 1}, {10, 20, 30, 40});
  expectNear(run(problem(q, k, v)).output, {10, 10, 20, 20, 30, 30, 40, 40});
}

TEST(Attention, OneKeyHead) {
  Tensor q({1, 3, 1, 1}, 1), k({1, 1, 1, 1}, 1), v({1, 1, 1, 1}, 7);
  expectNear(run(problem(q, k, v)).output, {7, 7, 7});
}

//===----------------------------------------------------------------------===//
// Regions and positions
//===----------------------------------------------------------------------===//

TEST(Attention, CausalTopLeft) {
  Tensor q({1, 1, 3, 1}, 0.0), k({1, 1, 3, 1}, 0.0),
      v({1, 1, 3, 1}, {3, 5, 10});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  AttentionResult result = run(p);
  expectNear(result.output, {3, 4, 6});
  expectNear(result.logSumExp, {0, std::log(2), std::log(3)});
}

TEST(Attention, CausalBottomRight) {
  Tensor q({1, 1, 2, 1}, 0.0), k({1, 1, 3, 1}, 0.0),
      v({1, 1, 3, 1}, {3, 5, 10});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  p.bottomRight = true;
  expectNear(run(p).output, {4, 6});
  p.bottomRight = false;
  p.offsets = {1};
  expectNear(run(p).output, {4, 6});
}

TEST(Attention, NegativeOffsetLeavesRowsEmpty) {
  Tensor q({1, 1, 3, 1}, 0.0), k({1, 1, 2, 1}, 0.0), v({1, 1, 2, 1}, {3, 5});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  p.bottomRight = true; // -1
  AttentionResult result = run(p);
  expectNear(result.output, {0, 3, 4});
  expectNear(result.logSumExp, {-inf, 0, std::log(2)});
}

TEST(Attention, OffsetPerBatch) {
  Tensor q({2, 1, 1, 1}, 0.0), k({2, 1, 3, 1}, 0.0),
      v({2, 1, 3, 1}, {3, 5, 10, 3, 5, 10});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  p.offsets = {0, 2};
  expectNear(run(p).output, {3, 6});
}

TEST(Attention, AbsurdOffsets) {
  Tensor q({1, 1, 2, 1}, 0.0), k({1, 1, 1, 1}, 0.0), v({1, 1, 1, 1}, 3);
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  p.offsets = {Index(1) << 61};
  expectNear(run(p).output, {3, 3});
  p.offsets = {std::numeric_limits<Index>::max()};
  EXPECT_FALSE(attention(p).ok());
  p.offsets = {std::numeric_limits<Index>::min()};
  EXPECT_FALSE(attention(p).ok());
}

TEST(Attention, RegionsSeeTheirIndices) {
  Tensor q({2, 2, 2, 1}, 0.0), k({2, 1, 2, 1}, 0.0), v({2, 1, 2, 1}, 0.0);
  AttentionProblem p = problem(q, k, v);
  p.offsets = {10, 20};
  using Place = std::tuple<Index, Index, Index, Index>;
  std::vector<Place> seen;
  p.mask = [&](Index b, Index h, Index p, Index j) {
    seen.emplace_back(b, h, p, j);
    return true;
  };
  run(p);
  std::vector<Place> expected;
  for (Index b : {0, 1})
    for (Index h : {0, 1})
      for (Index i : {0, 1})
        for (Index j : {0, 1})
          expected.emplace_back(b, h, i + (b ? 20 : 10), j);
  EXPECT_EQ(seen, expected);
}

TEST(Attention, ScoreSeesTheScaledDotProduct) {
  Tensor q({1, 1, 1, 1}, 3), k({1, 1, 1, 1}, 5), v({1, 1, 1, 1}, 1);
  AttentionProblem p = problem(q, k, v);
  p.scale = 0.5;
  p.score = [](double s, Index, Index, Index, Index) {
    EXPECT_EQ(s, 7.5);
    return 2.0;
  };
  expectNear(run(p).logSumExp, {2});
}

TEST(Attention, MaskAppliesAfterTheScore) {
  // With the mask first, tanh(-inf) = -1 would let the masked key back in.
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {0.5, 9}),
      v({1, 1, 2, 1}, {3, 100});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  p.score = [](double s, Index, Index, Index, Index) {
    return 2 * std::tanh(s / 2);
  };
  AttentionResult result = run(p);
  expectNear(result.output, {3});
  expectNear(result.logSumExp, {2 * std::tanh(0.25)});
}

TEST(Attention, ScoreIsOnlyAskedWhereTheMaskKeeps) {
  Tensor q({1, 1, 2, 1}, 0.0), k({1, 1, 2, 1}, 0.0), v({1, 1, 2, 1}, {3, 5});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  p.score = [](double s, Index, Index, Index p, Index j) {
    return j <= p ? std::optional(s) : std::nullopt;
  };
  expectNear(run(p).output, {3, 4});
}

TEST(Attention, UndefinedRegionsAreErrors) {
  Tensor q({1, 1, 1, 1}, 0.0), k({1, 1, 2, 1}, 0.0), v({1, 1, 2, 1}, 0.0);
  AttentionProblem p = problem(q, k, v);
  p.offsets = {4};
  p.score = [](double s, Index, Index, Index, Index j) {
    return j == 1 ? std::nullopt : std::optional(s);
  };
  EXPECT_EQ(failure(p), "undefined score at (b=0, h=0, p=4, j=1)");
  p.mask = [](Index, Index, Index, Index j) {
    return j == 0 ? std::nullopt : std::optional(true);
  };
  EXPECT_EQ(failure(p), "undefined mask at (b=0, h=0, p=4, j=0)");
}

//===----------------------------------------------------------------------===//
// Sinks and empty rows
//===----------------------------------------------------------------------===//

TEST(Attention, SinkJoinsTheDenominator) {
  Tensor q({1, 2, 1, 1}, 1), k({1, 1, 1, 1}, 0.0), v({1, 1, 1, 1}, 4);
  AttentionProblem p = problem(q, k, v);
  p.sink = {std::log(3), 1000};
  AttentionResult result = run(p);
  expectNear(result.output, {1, 0});
  expectNear(result.logSumExp, {std::log(4), 1000});
}

TEST(Attention, SinkOfMinusInfinityIsNoSink) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 1, 1}, 2), v({1, 1, 1, 1}, 4);
  AttentionProblem p = problem(q, k, v);
  p.sink = {-inf};
  AttentionResult result = run(p);
  expectNear(result.output, {4});
  expectNear(result.logSumExp, {2});
}

TEST(Attention, EmptyRows) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, quietNaN),
      v({1, 1, 2, 1}, quietNaN);
  AttentionProblem p = problem(q, k, v);
  AttentionProblem biased = p;
  p.mask = [](Index, Index, Index, Index) { return false; };
  biased.score = [](double, Index, Index, Index, Index) { return -inf; };
  for (AttentionProblem *each : {&p, &biased}) {
    AttentionResult result = run(*each);
    expectNear(result.output, {0});
    expectNear(result.logSumExp, {-inf});
    each->sink = {-2.5};
    result = run(*each);
    expectNear(result.output, {0});
    expectNear(result.logSumExp, {-2.5});
  }
}

TEST(Attention, NoKeys) {
  Tensor q({1, 1, 2, 3}, 1), k({1, 1, 0, 3}, 0.0), v({1, 1, 0, 2}, 0.0);
  AttentionResult result = run(problem(q, k, v));
  expectNear(result.output, {0, 0, 0, 0});
  expectNear(result.logSumExp, {-inf, -inf});
}

TEST(Attention, NothingToCompute) {
  for (std::array<Index, 4> shape :
       {std::array<Index, 4>{0, 1, 2, 3}, {1, 0, 2, 3}, {1, 1, 0, 3}}) {
    Tensor t(shape, 0.0);
    AttentionResult result = run(problem(t, t, t));
    EXPECT_TRUE(result.output.empty());
    EXPECT_TRUE(result.logSumExp.empty());
  }
}

//===----------------------------------------------------------------------===//
// NaN and Inf
//===----------------------------------------------------------------------===//

TEST(Attention, MaskedNaNAndInfDoNotContribute) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 3, 1}, {0, quietNaN, inf}),
      v({1, 1, 3, 1}, {5, quietNaN, -inf});
  AttentionProblem p = problem(q, k, v);
  p.mask = causal;
  AttentionResult result = run(p);
  expectNear(result.output, {5});
  expectNear(result.logSumExp, {0});
}

TEST(Attention, ScoreOfMinusInfinityHidesV) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {0, -inf}),
      v({1, 1, 2, 1}, {5, quietNaN});
  expectNear(run(problem(q, k, v)).output, {5});
}

TEST(Attention, VisibleNaNReachesTheOutput) {
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {quietNaN, 0}),
      v({1, 1, 2, 1}, {5, 6});
  AttentionResult result = run(problem(q, k, v));
  expectNear(result.output, {quietNaN});
  expectNear(result.logSumExp, {quietNaN});

  Tensor zero({1, 1, 2, 1}, 0.0), bad({1, 1, 2, 2}, {quietNaN, 6, 5, 8});
  result = run(problem(q, zero, bad));
  expectNear(result.output, {quietNaN, 7});
  expectNear(result.logSumExp, {std::log(2)});
}

TEST(Attention, InfiniteScoresAndSinks) { // A16
  Tensor q({1, 1, 1, 1}, 1), k({1, 1, 2, 1}, {0, inf}), v({1, 1, 2, 1}, {5, 6});
  AttentionResult result = run(problem(q, k, v));
  expectNear(result.output, {quietNaN});
  expectNear(result.logSumExp, {inf});
  k = Tensor({1, 1, 2, 1}, {quietNaN, inf});
  result = run(problem(q, k, v));
  expectNear(result.output, {quietNaN});
  expectNear(result.logSumExp, {quietNaN});
  k = Tensor({1, 1, 2, 1}, {0, 1});
  AttentionProblem withSink = problem(q, k, v);
  withSink.sink = {inf};
  result = run(withSink);
  expectNear(result.output, {0});
  expectNear(result.logSumExp, {inf});
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

TEST(Philox, KnownAnswers) {
  // From the file kat_vectors of Random123.
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({}, {}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                       {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Attention, DropoutOfTheFirstFourKeys) {
  // Counter 0 and key 0 give 6627e8d5 e169c58d bc57ac4c 9b00dbd8, of which the
  // first is below half of 2^32 and the others above.
  Tensor q({1, 1, 1, 1}, 0.0), k({1, 1, 4, 1}, 0.0),
      v({1, 1, 4, 1}, {1, 2, 4, 8});
  AttentionProblem p = problem(q, k, v);
  p.dropout.emplace(0.5, 0, 0);
  AttentionResult result = run(p);
  expectNear(result.output, {(2 + 4 + 8) / 4.0 * 2});
  expectNear(result.logSumExp, {std::log(4)}); // Before dropout.
}

TEST(Attention, DropoutThresholdIsInclusive) {
  Tensor q({1, 1, 1, 1}, 0.0), k({1, 1, 1, 1}, 0.0), v({1, 1, 1, 1}, 1);
  AttentionProblem p = problem(q, k, v);
  double rate = 0x6627e8d5 * 0x1p-32;
  p.dropout.emplace(rate, 0, 0);
  expectNear(run(p).output, {1 / (1 - rate)});
  p.dropout->rate = 0x6627e8d6 * 0x1p-32;
  expectNear(run(p).output, {0});
}

TEST(Attention, DropoutOfRateZeroKeepsAll) {
  Tensor q({1, 1, 1, 1}, 0.0), k({1, 1, 9, 1}, 0.0), v({1, 1, 9, 1}, 1);
  AttentionProblem p = problem(q, k, v);
  p.dropout.emplace(0, 7, 7);
  expectNear(run(p).output, {1});
}

TEST(Attention, DropoutCounter) {
  // One visible key per row, value 1: the output is 2 where it is kept.
  Tensor q({2, 3, 2, 1}, 0.0), k({2, 1, 7, 1}, 0.0), v({2, 1, 7, 1}, 1);
  AttentionProblem p = problem(q, k, v);
  std::uint64_t seed = 0x123456789abcdef0;
  p.offsets = {-1, 40};
  p.dropout.emplace(0.5, seed, 99);
  for (Index visible = 0; visible < 7; ++visible) {
    p.mask = [=](Index, Index, Index, Index j) { return j == visible; };
    std::vector<double> expected;
    for (std::uint32_t b : {0, 1})
      for (std::uint32_t h : {0, 1, 2})
        for (std::uint32_t i : {0, 1}) {
          std::uint32_t position = i + (b ? 40u : 0xffffffffu);
          std::uint32_t word =
              philox4x32({std::uint32_t(visible / 4), position, b * 3 + h, 99},
                         {0x9abcdef0, 0x12345678})[visible % 4];
          expected.push_back(word >= 0x80000000 ? 2 : 0);
        }
    expectNear(run(p).output, expected);
  }
}

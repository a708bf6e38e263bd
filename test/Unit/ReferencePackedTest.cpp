//===- ReferencePackedTest.cpp - Packed batches in the oracle -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/ReferenceTesting.h"

using namespace attn;
using namespace attn::reference;
using namespace attn::test;

TEST(Attention, PackedSequencesDoNotSeeEachOther) {
  Tensor q({1, 1, 4, 1}, 0.0), k({1, 1, 5, 1}, 0.0),
      v({1, 1, 5, 1}, {1, 3, 10, 20, 60});
  AttentionProblem p = problem(q, k, v);
  p.cuQuery = {0, 1, 1, 4};
  p.cuKey = {0, 2, 2, 5};
  p.mask = causal;
  expectNear(run(p).output, {1, 10, 15, 30});
  p.bottomRight = true; // Offsets 1, 0, 0.
  expectNear(run(p).output, {2, 10, 15, 30});
}

TEST(Attention, PackedRegionsSeePositionsInTheSequence) {
  Tensor q({1, 1, 3, 1}, 0.0), k({1, 1, 2, 1}, 0.0), v({1, 1, 2, 1}, 0.0);
  AttentionProblem p = problem(q, k, v);
  p.cuQuery = {0, 1, 3};
  p.cuKey = {0, 1, 2};
  p.offsets = {10, 20};
  std::string seen;
  p.mask = [&](Index b, Index, Index p, Index j) {
    seen += std::to_string(b) + "," + std::to_string(p) + "," +
            std::to_string(j) + " ";
    return true;
  };
  run(p);
  EXPECT_EQ(seen, "0,10,0 1,20,0 1,21,0 ");
}

TEST(Attention, PackedRowsOutsideEverySequence) {
  Tensor q({1, 1, 4, 1}, 0.0), k({1, 1, 4, 1}, 0.0),
      v({1, 1, 4, 1}, {9, 2, 4, 9});
  AttentionProblem p = problem(q, k, v);
  p.cuQuery = {1, 2};
  p.cuKey = {1, 3};
  p.sink = {0};
  AttentionResult result = run(p);
  expectNear(result.output, {0, 2, 0, 0});
  expectNear(result.logSumExp, {-inf, std::log(3), -inf, -inf});
}

TEST(Attention, PackedWithoutKeysIsAnEmptyRow) {
  Tensor q({1, 1, 1, 1}, 0.0), k({1, 1, 1, 1}, 0.0), v({1, 1, 1, 1}, 9);
  AttentionProblem p = problem(q, k, v);
  p.cuQuery = {0, 1};
  p.cuKey = {0, 0};
  p.sink = {2};
  AttentionResult result = run(p);
  expectNear(result.output, {0});
  expectNear(result.logSumExp, {2});
}

TEST(Attention, PackedNoSequences) {
  Tensor q({1, 1, 1, 1}, 0.0), k({1, 1, 1, 1}, 0.0), v({1, 1, 1, 1}, 9);
  AttentionProblem p = problem(q, k, v);
  p.cuQuery = {0};
  p.cuKey = {0};
  expectNear(run(p).logSumExp, {-inf});
}

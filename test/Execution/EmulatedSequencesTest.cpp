//===- EmulatedSequencesTest.cpp - Packed batches on GPUs -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences laid end to end, of several tiles of queries and blocks of keys, on
// the emulator, against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

constexpr Index headSize = 32;

KernelText createText(ElementType type) {
  return {.type = type,
          .queryHeads = 4,
          .keyValueHeads = 2,
          .keySize = headSize,
          .valueSize = headSize,
          .clauses = "sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>) ",
          .parameters = ", %cq: tensor<?xi32>, %ck: tensor<?xi32>",
          .pipeline = "gpu-emulator"};
}

/// Query, key and value of `queries` and `keys` rows.
std::vector<Argument> createInputs(ElementType type, Index queries, Index keys,
                                   std::vector<TestTensor> &alive) {
  alive = {normal(type, {1, 4, queries, headSize}, 1),
           normal(type, {1, 2, keys, headSize}, 2),
           normal(type, {1, 2, keys, headSize}, 3)};
  return {alive[0].view(), alive[1].view(), alive[2].view()};
}

/// Cumulative lengths, from `first` on.
TestTensor accumulate(const std::vector<Index> &lengths, Index first) {
  std::vector<double> result = {double(first)};
  for (Index length : lengths)
    result.push_back(result.back() + double(length));
  return i32(result);
}

} // namespace

/// Lengths that end within tiles and where tiles do, with rows of no sequence
/// before and after them.
TEST(EmulatedSequences, lengths) {
  forSeeds(1, numCases(6), [](Random &random) {
    KernelText text = createText(random.pick<ElementType>(
        {ElementType::f16, ElementType::bf16, ElementType::f32}));
    bool hasSink = random.chance(0.5);
    if (hasSink) {
      text.clauses = "sink(%sink : tensor<4xf32>) " + text.clauses;
      text.parameters = ", %sink: tensor<4xf32>" + text.parameters;
    }
    text.clauses = "offset(bottom_right) " + text.clauses +
                   random.pick<string>(
                       {"", "mask causal", "mask causal, sliding_window(70, 0)",
                        "score softcap(5.0) mask sliding_window(9, 9)"});
    std::vector<Index> queries, keys;
    for (Index n = random.between(1, 6); n > 0; --n) {
      queries.push_back(random.pick<Index>({0, 1, 63, 64, 65, 128, 150}));
      keys.push_back(
          random.chance(0.1) ? 0 : queries.back() + random.between(0, 100));
    }
    Index before = random.pick<Index>({0, 0, 3, 70}),
          after = random.pick<Index>({0, 0, 5});
    auto sum = [&](const std::vector<Index> &lengths) {
      return std::accumulate(lengths.begin(), lengths.end(), before + after);
    };
    std::vector<TestTensor> alive;
    std::vector<Argument> arguments =
        createInputs(text.type, sum(queries), sum(keys), alive);
    TestTensor sink = normal(ElementType::f32, {4}, random.bits()),
               cq = accumulate(queries, before), ck = accumulate(keys, before);
    if (hasSink)
      arguments.push_back(sink.view());
    arguments.push_back(cq.view());
    arguments.push_back(ck.view());
    EXPECT_EQ(run(text, arguments).error, "");
  });
}

/// What is wrong with cumulative lengths ends the launch of the check, before
/// anything is written. The last one is beyond the first workgroup of it.
TEST(EmulatedSequences, wrongLengths) {
  KernelText text = createText(ElementType::f16);
  std::vector<TestTensor> alive;
  std::vector<Argument> inputs = createInputs(text.type, 8, 8, alive);
  auto runWith = [&](const std::vector<double> &queries,
                     const std::vector<double> &keys) {
    TestTensor cq = i32(queries), ck = i32(keys);
    std::vector<Argument> arguments = inputs;
    arguments.push_back(cq.view());
    arguments.push_back(ck.view());
    Outcome outcome = run(text, arguments);
    EXPECT_TRUE(outcome.error.empty() || outcome.untouched);
    return outcome.error;
  };
  string wrong = "expected numbers that do not decrease";
  EXPECT_EQ(runWith({0, 3, 8}, {0, 8, 8}), "");
  EXPECT_EQ(runWith({4}, {4}), "");
  EXPECT_NE(runWith({-1, 3, 8}, {0, 8, 8}).find(wrong), string::npos);
  EXPECT_NE(runWith({0, 3, 2}, {0, 8, 8}).find(wrong), string::npos);
  EXPECT_NE(runWith({0, 3, 8}, {0, 1, 9}).find(wrong), string::npos);
  std::vector<double> many(301, 0.0);
  EXPECT_EQ(runWith(many, many), "");
  std::vector<double> last = many;
  last.back() = 9;
  EXPECT_NE(runWith(many, last).find(wrong), string::npos);
}

/// Without queries, without keys, and without either.
TEST(EmulatedSequences, noRows) {
  KernelText text = createText(ElementType::f16);
  TestTensor none = i32({0, 0}), rows = i32({1, 3});
  std::vector<TestTensor> alive;
  for (Index queries : {0, 4})
    for (Index keys : {0, 4}) {
      std::vector<Argument> arguments =
          createInputs(text.type, queries, keys, alive);
      arguments.push_back(queries ? rows.view() : none.view());
      arguments.push_back(keys ? rows.view() : none.view());
      EXPECT_EQ(run(text, arguments).error, "");
    }
}

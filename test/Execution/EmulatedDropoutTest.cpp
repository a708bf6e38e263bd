//===- EmulatedDropoutTest.cpp - Attention with dropout on GPUs -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which probabilities are dropped is what it is on a CPU, however tiles and
// blocks of keys lie: executed on the emulator, against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

const string seedAndCall = ", %seed: i64, %call: i32";
constexpr std::int64_t seed = 0x4cf5ad432745937f;
constexpr std::int32_t call = 0x52dce729;

string runOnGPU(const string &text,
                const std::vector<TestArgument> &arguments) {
  return runEverywhere(text, arguments, false, {"gpu-emulator"}).error;
}

struct DropoutCase {
  ElementType type;
  Index heads, group; ///< Of keys and values, and query heads of each.
  Index queries, keys, size;
  string clauses; ///< Scores and masks.
};

string windowOf(Index before) {
  return "score softcap(4.0) mask causal, sliding_window(" +
         std::to_string(before) + ", 0)";
}

/// What a mask hides is NaN.
void testDropout(const DropoutCase &test, Random &random) {
  auto [type, heads, group, queries, keys, size, clauses] = test;
  KernelText text{.type = type,
                  .queryHeads = heads * group,
                  .keyValueHeads = heads,
                  .keySize = size,
                  .valueSize = size,
                  .clauses = "offset(%offset : index) "
                             "dropout(0.3, %seed, %call) " +
                             clauses,
                  .parameters = ", %offset: index" + seedAndCall};
  Index offset = keys - queries - random.between(0, 2);
  TestTensor query(type, {2, heads * group, queries, size}),
      key(type, {2, heads, keys, size}), value(type, {2, heads, keys, size});
  for (TestTensor *tensor : {&query, &key, &value})
    tensor->fill([&] { return random.normal(); });
  if (!clauses.empty() && offset + queries < keys)
    value.set({1, 0, keys - 1, 0}, quietNaN);
  EXPECT_EQ(runOnGPU(text.write(), {query, key, value, offset, seed, call}), "")
      << text.write();
}

} // namespace

/// One query whose keys are split, from a window's begin on, tiles of many, and
/// one tile with several blocks of keys.
TEST(EmulatedDropout, splits_and_tiles) {
  const std::vector<DropoutCase> cases = {
      {ElementType::f16, 1, 3, 1, 600, 16, windowOf(66)},
      {ElementType::f16, 1, 3, 70, 130, 16, windowOf(66)}, // The same kernel.
      {ElementType::f32, 2, 1, 1, 600, 16, ""},
      {ElementType::bf16, 1, 1, 9, 600, 7, "mask causal"}};
  std::uint64_t seed = 1;
  for (const DropoutCase &test : cases)
    forSeeds(seed++, 1, [&](Random &random) { testDropout(test, random); });
}

TEST(EmulatedDropout, random) {
  if (!runsAllCases())
    GTEST_SKIP() << "left to all cases";
  forSeeds(101, 8, [](Random &random) {
    testDropout({.type = random.pick<ElementType>(
                     {ElementType::f16, ElementType::bf16, ElementType::f32}),
                 .heads = random.between(1, 2),
                 .group = random.pick<Index>({1, 1, 3}),
                 .queries = random.pick<Index>({1, 1, 9, 70}),
                 .keys = random.pick<Index>({random.between(1, 9), 130, 600}),
                 .size = random.pick<Index>({64, 16, 7}),
                 .clauses = random.pick<string>(
                     {"", "mask causal",
                      windowOf(random.pick<Index>({0, 3, 37, 66}))})},
                random);
  });
}

/// Lines are those of sequences.
TEST(EmulatedDropout, packed_sequences) {
  KernelText text{.type = ElementType::bf16,
                  .queryHeads = 4,
                  .keyValueHeads = 2,
                  .keySize = 16,
                  .valueSize = 16,
                  .clauses = "offset(bottom_right) sequences(%cu, %cu : "
                             "tensor<?xi32>, tensor<?xi32>) "
                             "dropout(0.3, %seed, %call) mask causal",
                  .parameters = ", %cu: tensor<?xi32>" + seedAndCall};
  TestTensor query = normal(text.type, {1, 4, 150, 16}, 1),
             key = normal(text.type, {1, 2, 150, 16}, 2),
             cumulative = i32({0, 1, 1, 71, 76, 148});
  EXPECT_EQ(runOnGPU(text.write(), {query, key, key, cumulative, seed, call}),
            "");
}

/// A8: a part of an op drops what the whole does, of keys that begin within
/// four.
TEST(EmulatedDropout, parts) {
  KernelText text{.type = ElementType::f16,
                  .queryHeads = 2,
                  .keyValueHeads = 1,
                  .keySize = 16,
                  .valueSize = 16,
                  .clauses = "dropout(0.3, %seed, %call, %line, "
                             "key = %first : index, heads = 5)",
                  .parameters = seedAndCall + ", %line: index, %first: index"};
  TestTensor query = normal(ElementType::f16, {2, 2, 20, 16}, 1),
             key = normal(ElementType::f16, {2, 1, 70, 16}, 2);
  EXPECT_EQ(runOnGPU(text.write(),
                     {query, key, key, seed, call, Index(3), Index(1001)}),
            "");
}

/// Rates at whose ends no word, or every one, is kept; the largest of f16.
TEST(EmulatedDropout, rates) {
  TestTensor query = normal(ElementType::f16, {1, 2, 20, 16}, 1),
             key = normal(ElementType::f16, {1, 2, 50, 16}, 2);
  for (const char *rate : {"0.0", "1.0e-12", "0.999", "0.999969482421875"}) {
    KernelText text{.type = ElementType::f16,
                    .queryHeads = 2,
                    .keyValueHeads = 2,
                    .keySize = 16,
                    .valueSize = 16,
                    .clauses = "dropout(" + string(rate) + ", %seed, %call)",
                    .parameters = seedAndCall};
    EXPECT_EQ(runOnGPU(text.write(), {query, key, key, seed, call}), "")
        << rate;
  }
}

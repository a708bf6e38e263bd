//===- DropoutTest.cpp - Attention with dropout, executed -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which probabilities are dropped does not depend on how tiles, blocks of keys
// and chunks of them lie: against the oracle, and on several threads.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

const string rateAndCall = "dropout(0.3, %seed, %call)";
const string seedAndCall = ", %seed: i64, %call: i32";
constexpr std::int64_t seed = 0x4cf5ad432745937f;
constexpr std::int32_t call = 0x52dce729;

void runRandom(Random &random) {
  auto type = random.pick<ElementType>({ElementType::f32, ElementType::f32,
                                        ElementType::f64, ElementType::f16,
                                        ElementType::bf16});
  Index batch = random.between(1, 2), heads = random.between(1, 2),
        group = random.pick<Index>({1, 1, 3, 4}),
        queries = random.pick<Index>({1, 1, 4, 8, 9, 33, 70}),
        keys = random.pick<Index>({random.between(1, 9), 64, 130, 257, 300,
                                   random.between(1, 300), 1030, 2049}),
        size = random.pick<Index>({64, 64, 16, 7});
  KernelText text{.type = type,
                  .queryHeads = heads * group,
                  .keyValueHeads = heads,
                  .keySize = size,
                  .valueSize = random.chance(0.3) ? 32 : size,
                  .parameters = ", %offset: index" + seedAndCall};
  // Blocks of keys begin where a window does.
  Index before = random.pick<Index>({0, 1, 2, 3, 5, 37, 66, 150, 1025});
  const std::vector<string> masks = {
      "", "mask causal",
      "mask causal, sliding_window(" + std::to_string(before) + ", 0)",
      "mask sliding_window(" + std::to_string(before) + ", 3)"};
  std::size_t mask = std::size_t(random.between(0, 3));
  Index offset = random.pick<Index>(
      {0, keys - queries, keys - queries, random.between(-5, 200)});
  text.clauses = "offset(%offset : index) " + rateAndCall + " " +
                 (random.chance(0.3) ? "score softcap(4.0) " : "") +
                 masks[mask];

  TestTensor query(type, {batch, heads * group, queries, size}),
      key(type, {batch, heads, keys, size}),
      value(type, {batch, heads, keys, text.valueSize});
  for (TestTensor *tensor : {&query, &key, &value})
    tensor->fill([&] { return random.normal(); });
  // A tile that hides it is computed once more, exactly.
  if (mask == 1 && offset + queries < keys)
    for (Index b = 0; b < batch; ++b)
      value.set({b, 0, keys - 1, 0}, random.chance(0.5) ? quietNaN : inf);
  expectRightOnThreads(text.write(), {query, key, value, offset, seed, call});
}

TEST(AttentionDropout, random) { forSeeds(9500, numCases(16), runRandom); }

// Lines are those of sequences.
TEST(AttentionDropout, packed_sequences) {
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    KernelText text{.type = type,
                    .queryHeads = 4,
                    .keyValueHeads = 2,
                    .keySize = 16,
                    .valueSize = 16,
                    .clauses = "offset(bottom_right) sequences(%cu, %cu : "
                               "tensor<?xi32>, tensor<?xi32>) " +
                               rateAndCall + " mask causal",
                    .parameters = ", %cu: tensor<?xi32>" + seedAndCall};
    TestTensor query = normal(type, {1, 4, 150, 16}, 1),
               key = normal(type, {1, 2, 150, 16}, 2),
               cumulative = i32({0, 1, 1, 71, 76, 148});
    expectRightOnThreads(text.write(),
                         {query, key, key, cumulative, seed, call});
  }
}

// Whatever a plan says: blocks of keys that begin within four, tiles of many
// queries and of few.
TEST(AttentionDropout, plans) {
  TestTensor query = normal(ElementType::f32, {2, 3, 21, 32}, 1),
             key = normal(ElementType::f32, {2, 1, 90, 32}, 2);
  for (const char *plan : {"keys = 7", "keys = 3, rows = 5",
                           "rows = 64, keys = 30", "lanes = 32, keys = 9"}) {
    KernelText text{.type = ElementType::f32,
                    .queryHeads = 3,
                    .keySize = 32,
                    .valueSize = 32,
                    .clauses = "offset(bottom_right) " + rateAndCall +
                               " mask causal {attn.plan = #attn.plan<" + plan +
                               ">}",
                    .parameters = seedAndCall};
    expectRightOnThreads(text.write(), {query, key, key, seed, call});
  }
}

// Rates at whose ends no word, or every one, is kept.
TEST(AttentionDropout, rates) {
  TestTensor query = normal(ElementType::f32, {1, 2, 20, 16}, 1),
             key = normal(ElementType::f32, {1, 2, 50, 16}, 2);
  for (const char *rate :
       {"1.0e-300", "1.0e-10", "0.5", "0.9999999999999999"}) {
    KernelText text{.type = ElementType::f32,
                    .queryHeads = 2,
                    .keyValueHeads = 2,
                    .keySize = 16,
                    .valueSize = 16,
                    .clauses = string("dropout(") + rate + ", %seed, %call)",
                    .parameters = seedAndCall};
    expectRightOnThreads(text.write(), {query, key, key, seed, call});
  }
}

// A8: a part of an op has its lines.
TEST(AttentionDropout, a8_line) {
  const char *ofLine = R"(
    func.func @f(%q: tensor<1x2x9x16xf32>, %k: tensor<1x2x40x16xf32>,
                 %line: index, %seed: i64, %call: i32)
        -> tensor<1x2x9x16xf32> {
      %o = tensor.empty() : tensor<1x2x9x16xf32>
      %r = attn.attention
          ins(%q, %k, %k : tensor<1x2x9x16xf32>, tensor<1x2x40x16xf32>,
              tensor<1x2x40x16xf32>)
          outs(%o : tensor<1x2x9x16xf32>) dropout(0.3, %seed, %call, %line)
      return %r : tensor<1x2x9x16xf32>
    })";
  TestTensor query = normal(ElementType::f32, {1, 2, 9, 16}, 1),
             key = normal(ElementType::f32, {1, 2, 40, 16}, 2);
  for (Index line : {0, 5, 1 << 20})
    expectRightOnThreads(ofLine, {query, key, line, seed, call});
}

// Few queries on many keys, in chunks that are merged; heads that share keys.
TEST(AttentionDropout, chunks_of_keys) {
  for (ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f64}) {
    TestTensor query = normal(type, {1, 4, 1, 64}, 1),
               key = normal(type, {1, 2, 3000, 64}, 2);
    KernelText text{.type = type,
                    .queryHeads = 4,
                    .keyValueHeads = 2,
                    .keySize = 64,
                    .valueSize = 64,
                    .clauses = "offset(bottom_right) " + rateAndCall,
                    .parameters = seedAndCall};
    expectRightOnThreads(text.write(), {query, key, key, seed, call});
  }
}

} // namespace

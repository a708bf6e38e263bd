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

// A8: parts of an op drop what it drops: some heads of some batch entries, and
// keys that begin within four.
TEST(AttentionDropout, a8_parts) {
  const char *parts = R"(
    !q = tensor<3x4x9x16xf32>
    !k = tensor<3x2x45x16xf32>
    !o = tensor<2x2x9x16xf32>
    !l = tensor<2x2x9xf32>
    !k0 = tensor<2x1x18x16xf32>
    !k1 = tensor<2x1x27x16xf32>
    func.func @f(%q: !q, %k: !k, %seed: i64, %call: i32, %line: index,
                 %key: index) -> (!o, !o, !o) {
      %o = tensor.empty() : !q
      %part = tensor.empty() : !o
      %l = tensor.empty() : !l
      %all = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q)
          dropout(0.3, %seed, %call)
      %expected = tensor.extract_slice %all[1, 2, 0, 0] [2, 2, 9, 16]
          [1, 1, 1, 1] : !q to !o
      %q0 = tensor.extract_slice %q[1, 2, 0, 0] [2, 2, 9, 16] [1, 1, 1, 1]
          : !q to !o
      %k0 = tensor.extract_slice %k[1, 1, 0, 0] [2, 1, 18, 16] [1, 1, 1, 1]
          : !k to !k0
      %k1 = tensor.extract_slice %k[1, 1, 18, 0] [2, 1, 27, 16] [1, 1, 1, 1]
          : !k to !k1
      %0:2 = attn.attention ins(%q0, %k0, %k0 : !o, !k0, !k0)
          outs(%part, %l : !o, !l) dropout(0.3, %seed, %call, %line, heads = 4)
      %1:2 = attn.attention ins(%q0, %k1, %k1 : !o, !k1, !k1)
          outs(%part, %l : !o, !l)
          dropout(0.3, %seed, %call, %line, key = %key : index, heads = 4)
      %keys = tensor.from_elements %key, %key : tensor<2xindex>
      %2:2 = attn.attention ins(%q0, %k1, %k1 : !o, !k1, !k1)
          outs(%part, %l : !o, !l)
          dropout(0.3, %seed, %call, %line, key = %keys : tensor<2xindex>,
                  heads = 4)
      %one:2 = attn.merge ins(%0#0, %0#1, %1#0, %1#1 : !o, !l, !o, !l)
          outs(%part, %l : !o, !l)
      %each:2 = attn.merge ins(%0#0, %0#1, %2#0, %2#1 : !o, !l, !o, !l)
          outs(%part, %l : !o, !l)
      return %expected, %one#0, %each#0 : !o, !o, !o
    })";
  TestTensor query = normal(ElementType::f32, {3, 4, 9, 16}, 1),
             key = normal(ElementType::f32, {3, 2, 45, 16}, 2);
  expectRightOnThreads(parts, {query, key, seed, call, Index(6), Index(18)});
  std::vector<TestTensor> results =
      runEverywhere(parts, {query, key, seed, call, Index(6), Index(18)})
          .tensors;
  ASSERT_EQ(results.size(), 3u);
  expectNear(results[1].elements(), results[0].elements(), 2e-6);
  expectNear(results[2].elements(), results[0].elements(), 2e-6);
}

// A8: so do gradients and tangents.
TEST(AttentionDropout, a8_derivatives) {
  const string text = R"(
    !q = tensor<2x4x?x16xELEMENT>
    !k = tensor<2x2x?x16xELEMENT>
    !l = tensor<2x4x?xf32>
    func.func @f(%q: !q, %k: !k, %v: !k, %do: !q, %seed: i64, %call: i32,
                 %line: index, %key: index) -> (!q, !k, !k, !q) {
      %c2 = arith.constant 2 : index
      %n = tensor.dim %q, %c2 : !q
      %m = tensor.dim %k, %c2 : !k
      %keys = tensor.from_elements %key, %line : tensor<2xindex>
      %oq = tensor.empty(%n) : !q
      %ok = tensor.empty(%m) : !k
      %ol = tensor.empty(%n) : !l
      %o:2 = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%oq, %ol : !q, !l)
          offset(bottom_right)
          dropout(0.3, %seed, %call, %line, key = %key : index, heads = 7)
          mask causal
      %d:3 = attn.attention_backward
          ins(%q, %k, %v, %o#0, %o#1, %do : !q, !k, !k, !q, !l, !q)
          outs(%oq, %ok, %ok : !q, !k, !k) offset(bottom_right)
          dropout(0.3, %seed, %call, %line, key = %key : index, heads = 7)
          mask causal
      %p:2 = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%oq, %ol : !q, !l)
          offset(bottom_right)
          dropout(0.3, %seed, %call, %line, key = %keys : tensor<2xindex>,
                  heads = 7)
          mask causal
      %t = attn.attention_tangent
          ins(%q, %k, %v, %p#0, %p#1 : !q, !k, !k, !q, !l) outs(%oq : !q)
          tangents(query = %do : !q) offset(bottom_right)
          dropout(0.3, %seed, %call, %line, key = %keys : tensor<2xindex>,
                  heads = 7)
          mask causal
      return %d#0, %d#1, %d#2, %t : !q, !k, !k, !q
    })";
  for (auto [type, name] : {std::pair(ElementType::f32, "f32"),
                            std::pair(ElementType::bf16, "bf16")}) {
    string of = text;
    for (std::size_t at; (at = of.find("ELEMENT")) != string::npos;)
      of.replace(at, 7, name);
    TestTensor query = normal(type, {2, 4, 37, 16}, 1),
               key = normal(type, {2, 2, 75, 16}, 2),
               value = normal(type, {2, 2, 75, 16}, 3),
               gradient = normal(type, {2, 4, 37, 16}, 4);
    expectRightOnThreads(
        of, {query, key, value, gradient, seed, call, Index(5), Index(131)});
  }
}

// A8: a packed batch says where the keys of each sequence begin.
TEST(AttentionDropout, a8_keys_of_sequences) {
  const char *packed = R"(
    !q = tensor<1x4x150x16xf32>
    !k = tensor<1x2x150x16xf32>
    func.func @f(%q: !q, %k: !k, %cu: tensor<?xi32>, %seed: i64, %call: i32,
                 %key: index) -> !q {
      %c0 = arith.constant 0 : index
      %c9 = arith.constant 9 : index
      %keys = tensor.from_elements %c0, %c9, %key, %c0, %key : tensor<5xindex>
      %o = tensor.empty() : !q
      %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q)
          offset(bottom_right)
          sequences(%cu, %cu : tensor<?xi32>, tensor<?xi32>)
          dropout(0.3, %seed, %call, key = %keys : tensor<5xindex>, heads = 6)
          mask causal
      return %r : !q
    })";
  TestTensor query = normal(ElementType::f32, {1, 4, 150, 16}, 1),
             key = normal(ElementType::f32, {1, 2, 150, 16}, 2),
             cumulative = i32({0, 1, 1, 71, 76, 148});
  expectRightOnThreads(packed,
                       {query, key, cumulative, seed, call, Index(1 << 20)});
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

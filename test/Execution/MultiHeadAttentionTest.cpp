//===- MultiHeadAttentionTest.cpp - Layers, executed ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/LayerText.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// Any layer: its sizes, its grouping of heads, where keys come from, and what
/// stands around the attention.
void runRandomLayer(std::uint64_t seed) {
  Random random(seed);
  LayerText layer;
  layer.seed = 1000 * seed;
  layer.type = random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                         ElementType::f16, ElementType::bf16});
  layer.keyHeads = random.between(1, 2);
  layer.heads = layer.keyHeads * random.between(1, 3);
  layer.keySize = 2 * random.between(1, 9);
  layer.valueSize = random.chance(0.7) ? layer.keySize : random.between(1, 17);
  layer.width = random.between(1, 24);
  layer.outputWidth = random.between(1, 24);
  Index batch = random.between(0, 2), length = random.between(0, 6),
        keyLength = random.between(1, 7);
  enum Form { fused, separate, cached, cross, memory };
  Form form = random.pick<Form>(
      {fused, separate, cached, cached, cached, cross, memory});
  ElementType weight = random.pick<ElementType>(
      {layer.type, ElementType::f32, ElementType::bf16, ElementType::i8});
  bool hasBias = random.chance(0.4);

  layer.add("x", {-1, -1, layer.width}, {batch, length, layer.width},
            layer.type, 1);
  Index from = layer.width;
  if (form == cross) {
    from = random.between(1, 20);
    layer.ins = " source(%e : " +
                layer.add("e", {-1, -1, from}, {batch, keyLength, from},
                          layer.type, 1) +
                ")";
  } else if (form == memory) {
    string keys = layer.add("k", {-1, layer.keyHeads, -1, layer.keySize},
                            {batch, layer.keyHeads, keyLength, layer.keySize},
                            layer.type, 1);
    string values = layer.add(
        "v", {-1, layer.keyHeads, -1, layer.valueSize},
        {batch, layer.keyHeads, keyLength, layer.valueSize}, layer.type, 1);
    layer.ins = " memory(%k, %v : " + keys + ", " + values + ")";
  }
  std::vector<double> lengths;
  Index stored = random.between(0, 8);
  for (Index b = 0; b < batch; ++b)
    lengths.push_back(double(random.between(0, stored)));
  if (form == cached)
    layer.addCaches(layer.type, batch, stored + length + random.between(0, 3));
  Index queries = layer.heads * layer.keySize,
        keys = layer.keyHeads * layer.keySize,
        values = layer.keyHeads * layer.valueSize;
  if (form == fused || (form == cached && random.chance(0.5))) {
    layer.addMap("qkv", layer.width, queries + keys + values, weight, hasBias);
  } else {
    layer.addMap("query", layer.width, queries, weight, hasBias);
    if (form != memory) {
      layer.addMap("key", from, keys, weight, false);
      layer.addMap("value", from, values, weight, hasBias);
    }
  }
  layer.addMap("output", layer.heads * layer.valueSize, layer.outputWidth,
               weight, random.chance(0.3));
  if (random.chance(0.3)) {
    bool isOfHeads = random.chance(0.5);
    layer.addMap("gate", layer.width,
                 layer.heads * (isOfHeads ? 1 : layer.valueSize), weight,
                 hasBias, isOfHeads ? " heads" : " elements");
  }
  bool hasNorm = random.chance(0.4);
  if (hasNorm) {
    string norms =
        layer.add("qn", {layer.keySize}, {layer.keySize}, layer.type, 0.1, 1);
    string operands = "%qn";
    if (form != memory) {
      norms +=
          ", " + layer.add("kn", {layer.keyHeads, layer.keySize},
                           {layer.keyHeads, layer.keySize}, layer.type, 0.1, 1);
      operands += ", %kn";
    }
    layer.clauses += " norms(" + operands + " : " + norms + ")";
  }
  if (random.chance(0.3)) {
    layer.clauses += " output_norm(%on : " +
                     layer.add("on", {layer.valueSize}, {layer.valueSize},
                               layer.type, 0.1, 1) +
                     ")" + random.pick<string>({"", " layer(2)"});
    hasNorm = true;
  }
  if (hasNorm && random.chance(0.5))
    layer.clauses += " epsilon(1.0e-3)";
  if (form != cross && form != memory && random.chance(0.6)) {
    Index pairs = random.between(1, layer.keySize / 2);
    string table =
        layer.add("cosine", {-1, pairs}, {20, pairs}, ElementType::f32, 1);
    layer.add("sine", {-1, pairs}, {20, pairs}, ElementType::f32, 1);
    layer.clauses += random.pick<string>({" rope half_split", " rope "
                                                              "interleaved"}) +
                     "(%cosine, %sine : " + table + ", " + table + ")";
  }
  if (form == cached)
    layer.clauses +=
        " lengths(%stored : " + layer.addIntegers("stored", lengths) + ")";
  else if (random.chance(0.3))
    layer.clauses +=
        " offset(%start : " +
        layer.declare("start", "index", Argument(random.between(0, 5)), false) +
        ")";
  if (random.chance(0.2))
    layer.clauses += " scale(0.25)";
  if (random.chance(0.3))
    layer.clauses +=
        " sink(%sink : " +
        layer.add("sink", {layer.heads}, {layer.heads}, ElementType::f32, 1) +
        ")";
  if (random.chance(0.2)) {
    layer.declare("seed", "i64", Argument(Index(random.bits())), false);
    layer.declare("call", "i32", Argument(Index(3)), false);
    layer.clauses += random.pick<string>({" dropout(0.2, 0.1, %seed, %call)",
                                          " dropout(0.0, 0.5, %seed, %call)",
                                          " dropout(0.3, 0.0, %seed, %call)"});
  }
  if (random.chance(0.3))
    layer.clauses += " score softcap(5.0)";
  if (form == cached)
    layer.clauses += random.pick<string>(
        {"", " mask causal", " mask causal, sliding_window(2, 0)"});
  else if (random.chance(0.5))
    layer.clauses +=
        random.pick<string>({" mask causal", " mask sliding_window(3, 1)"});
  EXPECT_EQ(layer.run().error, "");
}

TEST(MultiHeadAttention, random) {
  forSeeds(7800, numCases(18), runRandomLayer);
}

/// A layer with a cache, of `batch` sequences with up to 12 tokens.
LayerText writeCachedLayer(const TestTensor &tokens,
                           const std::vector<double> &lengths,
                           const TestTensor &keys, const TestTensor &values) {
  LayerText layer;
  layer.declare("x", "tensor<?x?x6xf32>", tokens.view(), false);
  layer.results = "tensor<?x1x?x4xf32>";
  layer.declare("keys", layer.results, keys.view(), true);
  layer.declare("values", layer.results, values.view(), true);
  layer.results += ", tensor<?x1x?x4xf32>";
  layer.addMap("qkv", 6, 16, ElementType::f32, true);
  layer.addMap("output", 8, 5, ElementType::f32, false);
  string table = layer.add("cosine", {-1, 2}, {12, 2}, ElementType::f32, 1);
  layer.add("sine", {-1, 2}, {12, 2}, ElementType::f32, 1);
  layer.clauses +=
      " rope half_split(%cosine, %sine : " + table + ", " + table +
      ") lengths(%stored : " + layer.addIntegers("stored", lengths) +
      ") mask causal";
  return layer;
}

TEST(MultiHeadAttention, l6_steps_are_one_prefill) {
  TestTensor tokens = normal(ElementType::f32, {2, 9, 6}, 3),
             keys(ElementType::f32, {2, 1, 12, 4}),
             values(ElementType::f32, {2, 1, 12, 4});
  keys.fill([] { return 0.0; });
  values.fill([] { return 0.0; });
  Results whole = writeCachedLayer(tokens, {0, 0}, keys, values).run();
  Index done = 0;
  for (Index count : {4, 1, 1, 3}) {
    TestTensor part(ElementType::f32, {2, count, 6});
    part.fill(
        [&](const Shape &i) { return *tokens.get({i[0], done + i[1], i[2]}); });
    Results step =
        writeCachedLayer(part, {double(done), double(done)}, keys, values)
            .run();
    ASSERT_EQ(step.error, "");
    auto copy = [](TestTensor &to, const TestTensor &from) {
      to.fill([&](const Shape &i) { return *from.get(i); });
    };
    copy(keys, step.tensors[1]);
    copy(values, step.tensors[2]);
    std::vector<double> expected;
    for (Index b : {0, 1})
      for (Index i = 0; i < count; ++i)
        for (Index c = 0; c < 5; ++c)
          expected.push_back(*whole.tensors[0].get({b, done + i, c}));
    expectNear(step.tensors[0].elements(), expected, 4e-6);
    done += count;
  }
}

TEST(MultiHeadAttention, l6_what_does_not_fit_writes_nothing) {
  TestTensor tokens = normal(ElementType::f32, {2, 3, 6}, 3),
             keys = normal(ElementType::f32, {2, 1, 12, 4}),
             values = normal(ElementType::f32, {2, 1, 12, 4}, 2);
  auto run = [&](const TestTensor &keys, const TestTensor &values,
                 const std::vector<double> &lengths) {
    return writeCachedLayer(tokens, lengths, keys, values).run().error;
  };
  EXPECT_EQ(run(keys, values, {2, 9}), "");
  EXPECT_NE(run(keys, values, {2, 10}), "");
  EXPECT_NE(run(keys, values, {2, -1}), "");
  EXPECT_NE(run(keys, values, {2}), "");
  EXPECT_NE(run(keys, normal(ElementType::f32, {2, 1, 11, 4}), {2, 9}), "");
  EXPECT_NE(run(keys, normal(ElementType::f32, {1, 1, 12, 4}), {2, 3}), "");
}

} // namespace

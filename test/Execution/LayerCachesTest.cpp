//===- LayerCachesTest.cpp - Layers with caches, executed -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/LayerText.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

enum class Kind { contiguous, ring, paged };

/// One step of sequences that have `lengths` tokens stored. Of the tokens,
/// (B, S, 6), the first `counts[b]` are appended, or all without counts.
LayerText writeStep(Kind kind, ElementType stored, const TestTensor &tokens,
                    const std::vector<double> &lengths,
                    const std::vector<double> &counts, const string &mask) {
  LayerText layer;
  Index batch = tokens.size(0);
  layer.declare("x", "tensor<?x?x6xf32>", tokens.view());
  if (kind == Kind::paged)
    layer.addCaches(stored, 8, 4);
  else
    layer.addCaches(stored, batch, 12);
  layer.addMap("qkv", 6, 16, ElementType::f32, true);
  layer.addMap("output", 8, 5, ElementType::f32, false);
  layer.clauses +=
      " lengths(%stored : " + layer.addIntegers("stored", lengths) + ")";
  if (!counts.empty())
    layer.clauses +=
        " counts(%counts : " + layer.addIntegers("counts", counts) + ")";
  if (kind == Kind::ring) {
    layer.declare("n", "index", Argument(Index(20)));
    layer.clauses += " ring size(%n)";
  }
  if (kind == Kind::paged) {
    const double pages[] = {6, 1, 4, 0, 2, 7, 5, 3, 1};
    layer.tensors.emplace_back(ElementType::i32, Shape{batch, 3},
                               std::vector<double>(pages, pages + 3 * batch));
    layer.clauses +=
        " table(%table : " +
        layer.declare("table", "tensor<?x?xi32>", layer.tensors.back().view()) +
        ")";
  }
  layer.clauses += mask;
  return layer;
}

/// A batch of sequences of different lengths gives each what it gets alone,
/// with the positions behind its last hidden by the mask.
void checkRagged(Kind kind, ElementType stored,
                 const std::vector<double> &lengths,
                 const std::vector<double> &counts, const string &mask) {
  SCOPED_TRACE("kind " + std::to_string(int(kind)) + ", mask '" + mask + "'");
  TestTensor tokens = normal(ElementType::f32, {2, 4, 6}, 3);
  LayerText whole = writeStep(kind, stored, tokens, lengths, counts, mask);
  Results results = whole.run();
  ASSERT_EQ(results.error, "");
  for (Index b : {0, 1}) {
    double length = lengths[std::size_t(b)];
    Index count = counts.empty() ? 4 : Index(counts[std::size_t(b)]);
    TestTensor own(ElementType::f32, {1, count, 6});
    own.fill([&](const Shape &i) { return *tokens.get({b, i[1], i[2]}); });
    LayerText alone = writeStep(kind, stored, own, {length}, {}, mask);
    // The caches come first and the table last.
    std::size_t numCaches = stored == ElementType::i8 ? 4 : 2;
    auto takeOwn = [&](TestTensor &to, const TestTensor &from) {
      to.fill([&](Shape at) {
        at[0] += b;
        return *from.get(at);
      });
    };
    if (kind == Kind::paged) {
      takeOwn(alone.tensors.back(), whole.tensors.back());
    } else {
      for (std::size_t i = 0; i < numCaches; ++i)
        takeOwn(alone.tensors[i], whole.tensors[i]);
    }
    alone.clauses += (mask.empty() ? " mask " : ", ") +
                     string("key_padding(%after : ") +
                     alone.addIntegers("after", {length + double(count)}) + ")";
    Results expected = alone.runReference();
    ASSERT_EQ(expected.error, "");
    std::vector<double> rows;
    for (Index i = 0; i < count; ++i)
      for (Index c = 0; c < 5; ++c)
        rows.push_back(*results.tensors[0].get({b, i, c}));
    expectNear(rows, expected.tensors[0].elements(), 4e-6);
  }
}

TEST(LayerCaches, l6_padding_is_hidden) {
  const std::vector<Kind> kinds = {Kind::contiguous, Kind::ring, Kind::paged};
  for (auto [kind, stored, hasCounts] : coverChoices<Kind, ElementType, bool>(
           kinds, {ElementType::f32, ElementType::i8, ElementType::f8e4m3fn},
           {false, true}))
    checkRagged(kind, stored, {2, 7},
                hasCounts ? std::vector<double>{4, 1} : std::vector<double>{},
                "");
  for (auto [kind, isCausal] : coverChoices<Kind, bool>(kinds, {true, false}))
    if (isCausal)
      checkRagged(kind, ElementType::f32, {0, 8}, {3, 0}, " mask causal");
    else
      checkRagged(kind, ElementType::f32, {1, 7}, {2, 3},
                  " mask sliding_window(3, 2)");
  // Where the ring has been overwritten.
  checkRagged(Kind::ring, ElementType::f32, {11, 14}, {4, 2},
              " mask sliding_window(3, 2)");
}

TEST(LayerCaches, l6_a_ring_has_to_hold_what_the_mask_keeps) {
  TestTensor tokens = normal(ElementType::f32, {2, 4, 6}, 3);
  auto run = [&](const std::vector<double> &lengths) {
    return writeStep(Kind::ring, ElementType::f32, tokens, lengths, {2, 4}, "")
        .run()
        .error;
  };
  EXPECT_EQ(run({3, 8}), "");
  EXPECT_NE(run({3, 9}), "");
}

TEST(LayerCaches, l2_l7_packed_weights_and_gates) {
  bool isOfHeads = false; // In turns.
  for (auto [weight, packing] :
       coverChoices<ElementType, std::pair<Index, bool>>(
           {ElementType::i8, ElementType::f32, ElementType::bf16},
           {{0, false}, {16, false}, {16, true}})) {
    auto [panel, inPairs] = packing;
    isOfHeads = !isOfHeads;
    LayerText layer;
    layer.panel = panel;
    layer.inPairs = inPairs;
    layer.valueSize = 3;
    layer.declare(
        "x", "tensor<?x?x6xf32>",
        layer.tensors.emplace_back(normal(ElementType::f32, {2, 3, 6})).view());
    layer.addCaches(ElementType::i8, 2, 9);
    layer.addMap("query", 6, 8, weight, true);
    layer.addMap("key", 6, 4, weight, false);
    layer.addMap("value", 6, 3, weight, true);
    layer.addMap("output", 6, 5, weight, true);
    layer.addMap("gate", 6, isOfHeads ? 2 : 6, weight, true,
                 isOfHeads ? " heads" : " elements");
    layer.clauses +=
        " lengths(%stored : " + layer.addIntegers("stored", {5, 1}) +
        ") mask causal";
    EXPECT_EQ(layer.run().error, "");
  }
}

/// Two sequences laid end to end give each what it gets alone.
TEST(LayerCaches, l4_l8_sequences_and_a_norm_of_the_output) {
  const std::vector<double> starts = {0, 2, 6}, positions = {5, 6, 0, 1, 2, 3};
  TestTensor tokens = normal(ElementType::f32, {1, 6, 6}, 3);
  auto write = [&](Index first, Index last, bool isPacked) {
    LayerText layer;
    TestTensor &own =
        layer.tensors.emplace_back(ElementType::f32, Shape{1, last - first, 6});
    own.fill(
        [&](const Shape &i) { return *tokens.get({0, first + i[1], i[2]}); });
    layer.declare("x", "tensor<?x?x6xf32>", own.view());
    layer.addMap("qkv", 6, 16, ElementType::f32, true);
    layer.addMap("output", 8, 5, ElementType::f32, false);
    layer.clauses +=
        " output_norm(%norm : " +
        layer.add("norm", {2, 4}, {2, 4}, ElementType::f32, 0.1, 1) +
        ") layer(3)";
    string table = layer.add("cosine", {-1, 2}, {12, 2}, ElementType::f32, 1);
    layer.add("sine", {-1, 2}, {12, 2}, ElementType::f32, 1);
    TestTensor &at =
        layer.tensors.emplace_back(ElementType::i32, Shape{1, last - first});
    at.fill(
        [&](const Shape &i) { return positions[std::size_t(first + i[1])]; });
    layer.clauses += " rope half_split(%cosine, %sine : " + table + ", " +
                     table + ") positions(%positions : " +
                     layer.declare("positions", "tensor<?x?xi32>", at.view()) +
                     ")";
    if (isPacked) {
      string type = layer.addIntegers("starts", starts);
      layer.clauses +=
          " sequences(%starts, %starts : " + type + ", " + type + ")";
    }
    layer.clauses += " mask causal";
    return layer;
  };
  Results packed = write(0, 6, true).run();
  ASSERT_EQ(packed.error, "");
  std::vector<double> expected;
  for (auto [first, last] : {std::pair<Index, Index>(0, 2), {2, 6}}) {
    Results alone = write(first, last, false).run();
    ASSERT_EQ(alone.error, "");
    for (double element : alone.tensors[0].elements())
      expected.push_back(element);
  }
  expectNear(packed.tensors[0].elements(), expected, 4e-6);
}

TEST(LayerCaches, sizes_that_only_a_call_knows) {
  auto run = [](Index bias, Index norm, Index angles) {
    LayerText layer;
    layer.declare(
        "x", "tensor<?x?x6xf32>",
        layer.tensors.emplace_back(normal(ElementType::f32, {2, 3, 6})).view());
    layer.addMap("qkv", 6, 16, ElementType::f32, false);
    layer.clauses += " output(%output, %bias : " +
                     layer.add("output", {8, 5}, {8, 5}, ElementType::f32, 1) +
                     ", " +
                     layer.add("bias", {-1}, {bias}, ElementType::f32, 1) + ")";
    string type = layer.add("norm", {-1}, {norm}, ElementType::f32, 1);
    layer.clauses += " norms(%norm, %norm : " + type + ", " + type + ")";
    layer.clauses +=
        " rope half_split(%cosine, %sine : " +
        layer.add("cosine", {-1, 2}, {8, 2}, ElementType::f32, 1) + ", " +
        layer.add("sine", {-1, 2}, {angles, 2}, ElementType::f32, 1) + ")";
    return layer.run().error;
  };
  EXPECT_EQ(run(5, 4, 8), "");
  EXPECT_NE(run(4, 4, 8), "");
  EXPECT_NE(run(5, 3, 8), "");
  EXPECT_NE(run(5, 4, 7), "");
}

} // namespace

//===- LayerBuilderTest.cpp - Layers that C++ describes, executed ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/multi_head_attention.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// Runs a built layer on tensors of these shapes, and what comes after them.
void runBuilt(const MultiHeadAttention &layer, std::vector<Shape> shapes,
              std::vector<TestArgument> others) {
  Expected<string> text = layer.text();
  ASSERT_TRUE(text) << text.error().message;
  auto kernel = getEngine().compile(*text);
  ASSERT_TRUE(kernel) << kernel.error().message << "\n" << *text;
  std::vector<TestTensor> tensors;
  tensors.reserve(shapes.size());
  std::vector<TestArgument> arguments;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    tensors.emplace_back(kernel->signature().arguments[i].type, shapes[i]);
    Random random(40 + i);
    ElementType type = tensors.back().type();
    tensors.back().fill([&] {
      if (type == ElementType::i32)
        return double(random.between(0, 3));
      return type == ElementType::i8 ? double(random.between(-9, 9))
                                     : 0.4 * random.normal();
    });
    arguments.push_back(tensors.back().view());
  }
  arguments.insert(arguments.end(), others.begin(), others.end());
  EXPECT_EQ(runEverywhere(*text, arguments).error, "");
}

TEST(LayerBuilder, with_a_cache) {
  MultiHeadAttention layer{.attention = {.queryHeads = 4,
                                         .keyValueHeads = 2,
                                         .headSize = 8,
                                         .score = softcap(4.0),
                                         .mask = causal()},
                           .width = 12,
                           .weights = ElementType::bf16,
                           .hasBias = true,
                           .gate = MultiHeadAttention::Gate::ofHeads,
                           .headNorms = HeadNorms{.epsilon = 1e-6},
                           .rotary = Rotary{.size = 8},
                           .cache = LayerCache{}};
  runBuilt(layer,
           {{2, 3, 12},
            {12, 64},
            {64},
            {32, 12},
            {12, 4},
            {8},
            {8},
            {9, 4},
            {9, 4},
            {2, 2, 9, 8},
            {2, 2, 9, 8}},
           {i32({2, 6})});
}

TEST(LayerBuilder, with_pages_of_i8_and_counts) {
  MultiHeadAttention layer{
      .attention = {.queryHeads = 4,
                    .keyValueHeads = 2,
                    .headSize = 8,
                    .mask = causal()},
      .width = 12,
      .headNorms = HeadNorms{.epsilon = 1e-6, .ofOutput = true, .layer = 3},
      .cache = LayerCache{
          .type = ElementType::i8, .pageSize = 4, .hasCounts = true}};
  runBuilt(layer,
           {{2, 3, 12},
            {12, 64},
            {32, 12},
            {8},
            {8},
            {8},
            {5, 2, 4, 8},
            {5, 2, 4, 8},
            {5, 2, 4},
            {5, 2, 4}},
           {i32({3, 0}), i32({3, 2}),
            TestTensor(ElementType::i32, {2, 2}, {4, 1, 2, 0})});
}

TEST(LayerBuilder, with_a_ring_and_positions) {
  MultiHeadAttention layer{
      .attention = {.queryHeads = 2,
                    .headSize = 8,
                    .mask = causal() && slidingWindow(2, 0)},
      .width = 6,
      .rotary = Rotary{.size = 4, .interleaved = true, .hasPositions = true},
      .cache = LayerCache{.type = ElementType::bf16, .isRing = true}};
  runBuilt(layer,
           {{2, 2, 6},
            {6, 48},
            {16, 6},
            {4, 2},
            {4, 2},
            {2, 2},
            {2, 2, 5, 8},
            {2, 2, 5, 8}},
           {i32({9, 1}), std::int64_t(11)});
}

TEST(LayerBuilder, with_sequences_and_weights_in_pairs) {
  Tensor<std::int32_t, 1> starts("starts");
  MultiHeadAttention layer{.attention = {.queryHeads = 2,
                                         .headSize = 8,
                                         .sequences = Sequences{starts, starts},
                                         .mask = causal()},
                           .width = 6,
                           .outputWidth = 7,
                           .weights = ElementType::bf16,
                           .panels = WeightPanels{.width = 32, .inPairs = true},
                           .headNorms = HeadNorms{.epsilon = 1e-5,
                                                  .ofQueriesAndKeys = false,
                                                  .ofOutput = true},
                           .rotary = Rotary{.size = 8, .hasPositions = true}};
  runBuilt(
      layer,
      {{1, 7, 6}, {2, 3, 32, 2}, {1, 8, 32, 2}, {8}, {4, 4}, {4, 4}, {1, 7}},
      {i32({0, 3, 3, 7})});
}

TEST(LayerBuilder, with_a_memory) {
  MultiHeadAttention layer{.attention = {.type = ElementType::f16,
                                         .queryHeads = 2,
                                         .headSize = 8,
                                         .offset = 4},
                           .width = 12,
                           .outputWidth = 7,
                           .weights = ElementType::f16,
                           .hasOutputBias = true,
                           .hasMemory = true};
  runBuilt(layer,
           {{2, 3, 12}, {2, 2, 5, 8}, {2, 2, 5, 8}, {12, 16}, {16, 7}, {7}},
           {});
}

TEST(LayerBuilder, with_a_source_and_weights_of_i8) {
  MultiHeadAttention layer{.attention = {.queryHeads = 4,
                                         .keyValueHeads = 2,
                                         .headSize = 8,
                                         .valueHeadSize = 5},
                           .width = 12,
                           .weights = ElementType::i8,
                           .hasBias = true,
                           .sourceWidth = 7,
                           .gate = MultiHeadAttention::Gate::ofElements};
  runBuilt(layer,
           {{2, 3, 12},
            {2, 6, 7},
            {12, 32},
            {32},
            {32},
            {7, 16},
            {16},
            {16},
            {7, 10},
            {10},
            {10},
            {20, 12},
            {12},
            {12, 20},
            {20}},
           {});
}

TEST(LayerBuilder, with_separate_weights) {
  MultiHeadAttention layer{
      .attention = {.queryHeads = 2, .headSize = 8, .mask = causal()},
      .width = 6,
      .isFused = false};
  runBuilt(layer, {{2, 3, 6}, {6, 16}, {6, 16}, {6, 16}, {16, 6}}, {});
}

// A name of the kernel's own is an error, also where the type is the same.
TEST(LayerBuilder, does_not_share_its_own_arguments) {
  for (const char *name :
       {"input", "key", "value", "query_weight", "output_weight"}) {
    Tensor<float, 4> bias(name, dynamic, 1, dynamic, 64);
    MultiHeadAttention layer{.attention = {.score = attn::bias(bias)},
                             .width = 4,
                             .hasMemory = true};
    Expected<string> text = layer.text();
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message,
              "argument '" + string(name) +
                  "': expected a name that is not one of the kernel's own "
                  "arguments");
  }
}

TEST(LayerBuilder, says_which_member_is_wrong) {
  auto message = [](const MultiHeadAttention &layer) {
    Expected<string> text = layer.text();
    return text ? string() : text.error().message;
  };
  EXPECT_EQ(message({.width = 0}), "width: expected at least 1, got 0");
  EXPECT_EQ(message({.width = 4, .weights = ElementType::i32}),
            "weights: expected f32, f16, bf16 or i8, got i32");
  EXPECT_EQ(message({.width = 4, .rotary = Rotary{.size = 66}}),
            "rotary.size: expected an even number from 2 to headSize, which is "
            "64, got 66");
  EXPECT_EQ(message({.width = 4, .hasMemory = true, .cache = LayerCache{}}),
            "cache: expected none where keys do not come from the input, got "
            "one");
  EXPECT_EQ(
      message({.width = 4, .cache = LayerCache{.type = ElementType::f64}}),
      "cache.type: expected f32, a narrower float or i8, got f64");
  EXPECT_EQ(message({.attention = {.type = ElementType::f16},
                     .width = 4,
                     .cache = LayerCache{.type = ElementType::bf16}}),
            "cache.type: expected f16, a narrower float or i8, got bf16");
  EXPECT_EQ(message({.width = 4, .cache = LayerCache{.pageSize = 0}}),
            "cache.pageSize: expected at least 1, or dynamic, got 0");
  EXPECT_EQ(
      message({.width = 4, .cache = LayerCache{.isRing = true, .pageSize = 8}}),
      "cache.isRing: expected false with pages, got true");
  Tensor<std::int32_t, 1> starts("starts");
  Attention packed{.sequences = Sequences{starts, starts}};
  EXPECT_EQ(message({.attention = packed, .width = 4, .cache = LayerCache{}}),
            "attention.sequences: expected none with a cache, got one");
  EXPECT_EQ(
      message({.attention = packed, .width = 4, .rotary = Rotary{.size = 4}}),
      "rotary.hasPositions: expected true with sequences, got false");
  EXPECT_EQ(message({.width = 4, .panels = WeightPanels{.width = 0}}),
            "panels.width: expected at least 1, got 0");
  EXPECT_EQ(message({.width = 5,
                     .panels = WeightPanels{.width = 16, .inPairs = true}}),
            "panels.inPairs: expected false where width is odd, got true for "
            "5");
  EXPECT_EQ(message({.width = 4,
                     .headNorms = HeadNorms{.epsilon = 1e-5,
                                            .ofQueriesAndKeys = false}}),
            "headNorms: expected queries and keys or the output to normalise, "
            "got neither");
  EXPECT_EQ(message({.width = 4,
                     .headNorms = HeadNorms{.epsilon = 1e-5, .layer = 1}}),
            "headNorms.layer: expected none without ofOutput, got 1");
  EXPECT_EQ(
      message({.width = 4,
               .headNorms =
                   HeadNorms{.epsilon = 1e-5, .ofOutput = true, .layer = -1}}),
      "headNorms.layer: expected at least 0, got -1");
  constexpr std::int64_t huge = std::int64_t(1) << 40;
  EXPECT_EQ(message({.attention = {.queryHeads = huge}, .width = 4}),
            "attention.queryHeads: expected at most 2^30, got 1099511627776");
  EXPECT_EQ(message({.attention = {.headSize = huge}, .width = 4}),
            "headSize: expected 1 to 4096, got 1099511627776");
  EXPECT_EQ(message({.attention = {.keyLength = 77}, .width = 4}),
            "attention.keyLength: expected dynamic where keys come from the "
            "input, got 77");
  EXPECT_EQ(message({.width = 4, .isFused = true, .sourceWidth = 3}),
            "isFused: expected false where keys do not come from the input, "
            "got true");
  EXPECT_EQ(message({.width = 4, .headNorms = HeadNorms{.epsilon = 1e300}}),
            "headNorms.epsilon: expected a number that is positive and finite "
            "in f32, got 1.0e+300");
  EXPECT_EQ(message({.attention = {.type = ElementType::f64},
                     .width = 4,
                     .headNorms = HeadNorms{.epsilon = 1e300}}),
            "");
  EXPECT_NE(message({.width = 4, .headNorms = HeadNorms{.epsilon = 0}}), "");
  Tensor<std::int32_t, 1> lengths("lengths");
  EXPECT_EQ(message({.attention = {.mask = causal() && keyPadding(lengths)},
                     .width = 4,
                     .cache = LayerCache{}}),
            "argument 'lengths': expected a name that is not one of the "
            "kernel's own arguments");
  EXPECT_EQ(message({.width = 4, .outputDropout = 0.5}),
            "attention.dropout: expected one, for outputDropout, got none");
  EXPECT_EQ(
      message({.attention = {.queryHeads = 3, .keyValueHeads = 2}, .width = 4}),
      "queryHeads: expected a multiple of keyValueHeads, which is 2, got "
      "3");
}

} // namespace

//===- LargeSizesTest.cpp - Many tiles and blocks -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of attn.attention at sizes that span several tiles of queries and
// several blocks of keys.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

constexpr Index numQueries = 150, numKeys = 300, headSize = 8;
const std::vector<ElementType> fastTypes = {ElementType::f32, ElementType::f16,
                                            ElementType::bf16};

struct Inputs {
  TestTensor query, key, value;

  explicit Inputs(ElementType type, Index batch = 1)
      : query(normal(type, {batch, 1, numQueries, headSize}, 1)),
        key(normal(type, {batch, 1, numKeys, headSize}, 2)),
        value(normal(type, {batch, 1, numKeys, headSize}, 3)) {}

  std::vector<Argument> arguments() const {
    return {query.view(), key.view(), value.view()};
  }
};

KernelText textOf(ElementType type) {
  return {.type = type, .keySize = headSize, .valueSize = headSize};
}

void setRow(TestTensor &tensor, Index b, Index row, double element) {
  for (Index d = 0; d < headSize; ++d)
    tensor.set({b, 0, row, d}, element);
}

double outputAt(const Outcome &outcome, Index row, Index d) {
  return outcome.output[std::size_t(row * headSize + d)];
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// A score of -inf needs no region: a key may be infinite.
TEST(LargeSizes, attention_a13_an_infinite_key_hides_its_value) {
  for (ElementType type : fastTypes) {
    Inputs inputs(type);
    inputs.query.fill([](const std::vector<Index> &) { return 1.0; });
    setRow(inputs.key, 0, 200, -std::numeric_limits<double>::infinity());
    setRow(inputs.value, 0, 200, std::numeric_limits<double>::quiet_NaN());
    Outcome outcome = run(textOf(type), inputs.arguments());
    for (double element : outcome.output)
      EXPECT_TRUE(std::isfinite(element));
  }
}

TEST(LargeSizes, attention_a13_nothing_leaks_out_of_masked_places) {
  for (ElementType type : fastTypes)
    for (double poison : {quietNaN, inf, -inf}) {
      KernelText text = textOf(type);
      text.clauses = "mask key_padding(%lengths : tensor<?xi32>)";
      text.parameters = ", %lengths: tensor<?xi32>";
      Inputs inputs(type, /*batch=*/2);
      TestTensor lengths = i32({250, 97});
      std::vector<Argument> arguments = inputs.arguments();
      arguments.push_back(lengths.view());
      Outcome clean = run(text, arguments);
      for (Index j = 250; j < numKeys; ++j)
        for (TestTensor *tensor : {&inputs.key, &inputs.value})
          setRow(*tensor, 0, j, poison);
      for (Index j = 97; j < numKeys; ++j)
        for (TestTensor *tensor : {&inputs.key, &inputs.value})
          setRow(*tensor, 1, j, poison);
      Outcome outcome = run(text, arguments);
      // In pairs, values are read in packs that end after the last visible key,
      // and which sums are computed first depends on whether all is finite.
      double tolerance = type == ElementType::bf16 ? 0x1p-7 : 0.0;
      ASSERT_EQ(outcome.output.size(), clean.output.size());
      for (size_t i = 0; i < clean.output.size(); ++i)
        ASSERT_NEAR(outcome.output[i], clean.output[i], tolerance) << i;
      for (size_t i = 0; i < clean.logSumExp.size(); ++i)
        ASSERT_NEAR(outcome.logSumExp[i], clean.logSumExp[i],
                    tolerance > 0 ? 1e-5 : 0.0)
            << i;
    }
}

/// A block of keys is trimmed to those that are visible, from the 14th of a
/// pack on.
TEST(LargeSizes, attention_a13_masked_keys_before_those_of_a_block) {
  for (ElementType type : fastTypes)
    for (bool inKey : {false, true}) {
      KernelText text = textOf(type);
      text.clauses = R"(mask(%b, %h, %p, %j) {
                          %c127 = arith.constant 127 : index
                          %rest = arith.andi %j, %c127 : index
                          %c77 = arith.constant 77 : index
                          %keep = arith.cmpi sge, %rest, %c77 : index
                          attn.yield %keep : i1
                        })";
      Inputs inputs(type);
      Outcome clean = run(text, inputs.arguments());
      for (Index j : {64, 70, 76})
        setRow(inKey ? inputs.key : inputs.value, 0, j, quietNaN);
      Outcome outcome = run(text, inputs.arguments());
      // Which sums are computed first may depend on whether all is finite.
      double tolerance = type == ElementType::bf16 ? 0x1p-7 : 0x1p-10;
      ASSERT_EQ(outcome.output.size(), clean.output.size());
      for (size_t i = 0; i < clean.output.size(); ++i)
        ASSERT_NEAR(outcome.output[i], clean.output[i], tolerance) << i;
    }
}

TEST(LargeSizes, attention_a13_a_masked_row_of_the_diagonal_block) {
  // Every tile of queries has its own last block; the poisoned key is visible
  // to the rows from it on, and only to those.
  for (ElementType type : fastTypes)
    for (Index poisoned : {0, 1, 63, 95, 96, 130, 149})
      for (bool inKey : {false, true}) {
        // Which sums are computed first may depend on whether all is finite.
        double tolerance = type == ElementType::bf16 ? 0x1p-7 : 0x1p-10;
        KernelText text = textOf(type);
        text.clauses = "mask causal";
        Inputs inputs(type);
        Outcome clean = run(text, inputs.arguments());
        (inKey ? inputs.key : inputs.value).set({0, 0, poisoned, 3}, quietNaN);
        Outcome outcome = run(text, inputs.arguments());
        for (Index i = 0; i < numQueries; ++i)
          for (Index d = 0; d < headSize; ++d) {
            bool reached = i >= poisoned && (inKey || d == 3);
            double actual = outputAt(outcome, i, d);
            if (reached)
              ASSERT_TRUE(std::isnan(actual)) << i << ", " << d;
            else
              ASSERT_NEAR(actual, outputAt(clean, i, d), tolerance)
                  << i << ", " << d;
          }
      }
}

TEST(LargeSizes, attention_a13_scores_of_minus_infinity_hide_values) {
  for (ElementType type : fastTypes) {
    KernelText text = textOf(type);
    text.clauses = "score bias(%bias : tensor<?xf32>)";
    text.parameters = ", %bias: tensor<?xf32>";
    Inputs inputs(type);
    TestTensor bias(ElementType::f32, {numKeys});
    bias.fill([](const Shape &index) { return index[0] % 3 ? 0.5 : -inf; });
    std::vector<Argument> arguments = inputs.arguments();
    arguments.push_back(bias.view());
    Outcome clean = run(text, arguments);
    for (Index j = 0; j < numKeys; j += 3)
      setRow(inputs.value, 0, j, quietNaN);
    Outcome outcome = run(text, arguments);
    double tolerance = type == ElementType::bf16 ? 0x1p-7 : 0x1p-10;
    expectNear(outcome.output, clean.output, tolerance);
    expectNear(outcome.logSumExp, clean.logSumExp, tolerance);
    for (double element : outcome.output)
      ASSERT_TRUE(std::isfinite(element));
    // exp(inf - inf) is NaN, wherever the block is.
    bias.set({200}, inf);
    for (double element : run(text, arguments).output)
      ASSERT_TRUE(std::isnan(element));
  }
}

TEST(LargeSizes, attention_a14_rows_that_see_nothing) {
  // Among rows that see something, in every tile; and all rows of a tile.
  for (ElementType type : fastTypes)
    for (const char *sink : {"", "sink(%sink : tensor<1xf32>) "}) {
      KernelText text = textOf(type);
      text.clauses = std::string(sink) + R"(mask(%b, %h, %p, %j) {
        %c7 = arith.constant 7 : index
        %c2 = arith.constant 2 : index
        %c64 = arith.constant 64 : index
        %rest = arith.remui %p, %c7 : index
        %some = arith.cmpi ne, %rest, %c2 : index
        %first = arith.cmpi uge, %p, %c64 : index
        %keep = arith.andi %some, %first : i1
        attn.yield %keep : i1
      })";
      text.parameters = ", %sink: tensor<1xf32>";
      Inputs inputs(type);
      TestTensor logit(ElementType::f32, {1}, {0.75});
      std::vector<Argument> arguments = inputs.arguments();
      arguments.push_back(logit.view());
      setRow(inputs.query, 0, 9, quietNaN);
      setRow(inputs.query, 0, 86, inf); // 86 % 7 is 2.
      Outcome outcome = run(text, arguments);
      for (Index i = 0; i < numQueries; ++i) {
        bool sees = i >= 64 && i % 7 != 2;
        for (Index d = 0; d < headSize; ++d)
          if (sees)
            ASSERT_TRUE(std::isfinite(outputAt(outcome, i, d))) << i;
          else
            ASSERT_EQ(outputAt(outcome, i, d), 0) << i;
        if (!sees)
          ASSERT_EQ(outcome.logSumExp[std::size_t(i)], *sink ? 0.75 : -inf)
              << i;
      }
    }
}

/// Around the sizes of registers, tiles and packs, with heads of many of them.
TEST(LargeSizes, large_heads_of_few_queries_and_keys) {
  for (auto [type, mask] :
       coverChoices<ElementType, const char *>(fastTypes, {"", "mask causal"}))
    for (Index queries : {1, 15, 33})
      for (Index keys : {0, 1, 31, 32, 65}) {
        KernelText text{
            .type = type, .keySize = 512, .valueSize = 500, .clauses = mask};
        TestTensor query = normal(type, {1, 1, queries, 512}, 1),
                   key = normal(type, {1, 1, keys, 512}, 2),
                   value = normal(type, {1, 1, keys, 500}, 3);
        Outcome outcome = run(text, {query.view(), key.view(), value.view()});
        EXPECT_EQ(outcome.error, "");
        EXPECT_EQ(outcome.output.size(), std::size_t(queries * 500));
        if (keys > 0)
          continue;
        for (double element : outcome.output)
          ASSERT_EQ(element, 0);
        for (double element : outcome.logSumExp)
          ASSERT_EQ(element, -inf);
      }
}

} // namespace

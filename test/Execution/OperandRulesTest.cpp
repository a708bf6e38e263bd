//===- OperandRulesTest.cpp - A1 to A9, executed --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test is named after the rule of attn.attention's documentation that it
// holds kernels to.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Philox.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

TEST(Rules, attention_a1_sizes_that_disagree) {
  TestTensor query = f64({2, 1, 3, 1}, 1.0), key = f64({2, 1, 4, 1}, 1.0),
             shorter = f64({2, 1, 3, 1}, 1.0),
             oneBatch = f64({1, 1, 4, 1}, 1.0);
  EXPECT_EQ(run(KernelText{}, {query.view(), key.view(), key.view()}).error,
            "");
  for (const TestTensor &value : {shorter, oneBatch}) {
    Outcome outcome =
        run(KernelText{}, {query.view(), key.view(), value.view()});
    EXPECT_NE(outcome.error.find("value"), std::string::npos) << outcome.error;
    EXPECT_TRUE(outcome.untouched);
  }
}

TEST(Rules, attention_a1_sizes_of_zero) {
  KernelText text{
      .queryHeads = 2, .keyValueHeads = 2, .keySize = 3, .valueSize = 2};
  for (const auto &[batch, queryLength, keyLength] :
       std::vector<std::array<Index, 3>>{
           {0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}}) {
    TestTensor query = normal(ElementType::f64, {batch, 2, queryLength, 3}),
               key = normal(ElementType::f64, {batch, 2, keyLength, 3}),
               value = normal(ElementType::f64, {batch, 2, keyLength, 2});
    Outcome outcome = run(text, {query.view(), key.view(), value.view()});
    EXPECT_EQ(outcome.error, "");
    std::size_t rows = std::size_t(batch * 2 * queryLength);
    expectNear(outcome.output, std::vector<double>(2 * rows, 0.0));
    expectNear(outcome.logSumExp, std::vector<double>(rows, -inf));
  }
}

TEST(Rules, attention_a1_absurd_sizes) {
  constexpr Index huge = Index(1) << 62;
  double number = 1;
  std::vector<Index> sizes = {huge, 1, 4, 1}, strides = {0, 0, 0, 1};
  TensorView view(static_cast<const double *>(&number), sizes, strides);
  TestTensor small = f64({1, 1, 4, 1}, 1.0);
  Expected<Kernel> kernel = getEngine().compile(KernelText{}.write());
  ASSERT_TRUE(kernel.ok());
  double result = 5;
  std::vector<Index> zeros = {0, 0, 0, 1}, lseSizes = {huge, 1, 4};
  TensorView output(&result, sizes, zeros),
      lse(&result, lseSizes, std::vector<Index>{0, 0, 1});
  EXPECT_FALSE(kernel->run({view, view, view}, {output, lse}).ok());
  EXPECT_FALSE(
      kernel->run({view, small.view(), small.view()}, {output, lse}).ok());
  EXPECT_EQ(result, 5);

  // No rows, so there is nothing to do, in no time.
  std::vector<Index> rowless = {huge, 1, 0, 1}, rowlessLse = {huge, 1, 0};
  TensorView none(&number, rowless, strides);
  TensorView noOutput(&result, rowless, zeros),
      noLse(&result, rowlessLse, std::vector<Index>{0, 0, 1});
  EXPECT_TRUE(kernel->run({none, none, none}, {noOutput, noLse}).ok());
}

TEST(Rules, attention_a2_sums_are_wider_than_the_elements) {
  // In f16 a sum of ones stops at 2048, and in bf16 at 256.
  for (ElementType type : {ElementType::f16, ElementType::bf16}) {
    TestTensor query(type, {1, 1, 1, 1}, {0.0}), ones(type, {1, 1, 4099, 1});
    ones.fill([] { return 1.0; });
    Outcome outcome =
        run(KernelText{.type = type}, {query.view(), ones.view(), ones.view()});
    EXPECT_EQ(outcome.output[0], 1);
    EXPECT_NEAR(outcome.logSumExp[0], std::log(4099), 1e-5);
  }
}

TEST(Rules, attention_a2_the_region_sees_the_wide_score) {
  // 1 + 2^-10 + 2^-20 is no f16. The score is kept if the region sees it.
  TestTensor query(ElementType::f16, {1, 1, 1, 1}, {1 + 0x1p-10}),
      key(ElementType::f16, {1, 1, 1, 1}, {1 + 0x1p-10});
  KernelText text{.type = ElementType::f16,
                  .clauses = R"(scale(1.0) score(%s, %b, %h, %p, %j) {
      %x = arith.constant 1.00195407867431640625 : f32
      %is = arith.cmpf oeq, %s, %x : f32
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %y = arith.select %is, %one, %zero : f32
      attn.yield %y : f32
    })"};
  Outcome outcome = run(text, {query.view(), key.view(), key.view()});
  EXPECT_EQ(outcome.logSumExp[0], 1);
}

TEST(Rules, attention_a3_groups_of_heads) {
  KernelText text{.queryHeads = 6, .keyValueHeads = 2};
  TestTensor query = f64({1, 6, 1, 1}, 0.0), key = f64({1, 2, 1, 1}, 0.0),
             value = f64({1, 2, 1, 1}, {10, 20});
  expectNear(run(text, {query.view(), key.view(), value.view()}).output,
             {10, 10, 10, 20, 20, 20});
}

TEST(Rules, attention_a4_scale) {
  // dot = 4 * 0.5, and 1 / sqrt(Dk) = 0.5.
  TestTensor query = f64({1, 1, 1, 4}, 0.5), key = f64({1, 1, 1, 4}, 1.0);
  std::vector<Argument> arguments = {query.view(), key.view(), key.view()};
  KernelText text{.keySize = 4, .valueSize = 4};
  EXPECT_EQ(run(text, arguments).logSumExp[0], 1);
  text.clauses = "scale(0.25)";
  EXPECT_EQ(run(text, arguments).logSumExp[0], 0.5);
  text.clauses = "scale(%scale : f64)";
  text.parameters = ", %scale: f64";
  arguments.push_back(-3.0);
  EXPECT_EQ(run(text, arguments).logSumExp[0], -6);
}

TEST(Rules, attention_a5_causal_is_aligned_to_the_top_left) {
  KernelText text{.clauses = "mask causal"};
  expectNear(run(text, powers(2, 4)).output,
             {meanOfPowers(0, 0), meanOfPowers(0, 1)});
}

TEST(Rules, attention_a5_bottom_right) {
  KernelText text{.clauses = "offset(bottom_right) mask causal"};
  expectNear(run(text, powers(2, 4)).output,
             {meanOfPowers(0, 2), meanOfPowers(0, 3)});
  // More queries than keys: the first see none.
  expectNear(run(text, powers(3, 1)).output, {0, 0, 1});
}

TEST(Rules, attention_a5_offsets) {
  KernelText text{.clauses = "offset(%offset : i32) mask causal",
                  .parameters = ", %offset: i32"};
  std::vector<Argument> arguments = powers(3, 4);
  arguments.push_back(1);
  expectNear(run(text, arguments).output,
             {meanOfPowers(0, 1), meanOfPowers(0, 2), meanOfPowers(0, 3)});
  arguments.back() = -2;
  expectNear(run(text, arguments).output, {0, 0, 1});
}

TEST(Rules, attention_a5_offset_per_batch) {
  KernelText text{.clauses = "offset(%offset : tensor<?xi64>) mask causal",
                  .parameters = ", %offset: tensor<?xi64>"};
  TestTensor query = f64({2, 1, 1, 1}, 0.0), key = f64({2, 1, 3, 1}, 1.0),
             value = f64({2, 1, 3, 1}, {1, 2, 4, 1, 2, 4}),
             offset(ElementType::i64, {2}, {2, 0}),
             wrong(ElementType::i64, {3}, {2, 0, 0});
  expectNear(
      run(text, {query.view(), key.view(), value.view(), offset.view()}).output,
      {meanOfPowers(0, 2), 1});
  Outcome outcome =
      run(text, {query.view(), key.view(), value.view(), wrong.view()});
  EXPECT_NE(outcome.error, "");
  EXPECT_TRUE(outcome.untouched);
}

TEST(Rules, attention_a5_absurd_offsets) {
  KernelText text{.clauses = "offset(%offset : i64) mask causal",
                  .parameters = ", %offset: i64"};
  std::vector<Argument> arguments = powers(2, 3);
  arguments.push_back(Index(1) << 61);
  expectNear(run(text, arguments).output,
             {meanOfPowers(0, 2), meanOfPowers(0, 2)});
  arguments.back() = -(Index(1) << 61);
  expectNear(run(text, arguments).output, {0, 0});
  // Positions would overflow, and a mask would turn around.
  for (Index offset :
       {(Index(1) << 61) + 1, -(Index(1) << 61) - 1,
        std::numeric_limits<Index>::max(), std::numeric_limits<Index>::min()}) {
    arguments.back() = offset;
    Outcome outcome = run(text, arguments);
    EXPECT_NE(outcome.error.find("argument 'offset'"), std::string::npos)
        << outcome.error;
    EXPECT_TRUE(outcome.untouched);
  }
}

TEST(Rules, attention_a5_absurd_offset_of_one_sequence) {
  KernelText text{.clauses = "offset(%offset : tensor<?xi64>) mask causal",
                  .parameters = ", %offset: tensor<?xi64>"};
  std::vector<Argument> arguments = powers(2, 3);
  std::int64_t offset = std::numeric_limits<std::int64_t>::max();
  std::vector<Index> sizes = {1};
  arguments.push_back(TensorView(&offset, sizes));
  Outcome outcome = run(text, arguments);
  EXPECT_NE(outcome.error.find("argument 'offset'"), std::string::npos)
      << outcome.error;
  EXPECT_TRUE(outcome.untouched);
}

TEST(Rules, attention_a5_the_largest_window_hides_nothing) {
  KernelText text{.clauses = "offset(%offset : i64) mask sliding_window("
                             "2305843009213693952, 2305843009213693952)",
                  .parameters = ", %offset: i64"};
  std::vector<Argument> arguments = powers(2, 3);
  for (Index offset : {Index(0), (Index(1) << 61) - 2, -(Index(1) << 61) + 2}) {
    arguments.resize(3, Index(0));
    arguments.push_back(offset);
    expectNear(run(text, arguments).output,
               {meanOfPowers(0, 2), meanOfPowers(0, 2)});
  }
}

TEST(Rules, attention_a6_sink) {
  // Two scores of 0 and a sink of log 2: the sink takes half.
  KernelText text{.queryHeads = 3,
                  .clauses = "sink(%sink : tensor<3xf64>)",
                  .parameters = ", %sink: tensor<3xf64>"};
  TestTensor query = f64({1, 3, 1, 1}, 0.0), key = f64({1, 1, 2, 1}, 0.0),
             value = f64({1, 1, 2, 1}, 1.0),
             sink = f64({3}, {std::log(2), -inf, 1e5});
  Outcome outcome =
      run(text, {query.view(), key.view(), value.view(), sink.view()});
  expectNear(outcome.output, {0.5, 1, 0});
  expectNear(outcome.logSumExp, {std::log(4), std::log(2), 1e5}, 1e-10);
}

/// A packed batch of up to 4 query rows and 6 key rows.
KernelText packedText(const std::string &before,
                      const std::string &after = "") {
  return {.clauses =
              before +
              " sequences(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>) " +
              after,
          .parameters = ", %cu_q: tensor<?xi32>, %cu_k: tensor<?xi32>"};
}

TEST(Rules, attention_a7_sequences_see_only_themselves) {
  std::vector<Argument> arguments = powers(4, 6);
  // Rows 1 and 2 with keys 0 to 2; no row with key 3; row 3 with no key.
  TestTensor query = i32({1, 3, 3, 4}), key = i32({0, 3, 4, 4});
  arguments.insert(arguments.end(), {query.view(), key.view()});
  Outcome outcome = run(packedText("", "mask causal"), arguments);
  expectNear(outcome.output, {0, meanOfPowers(0, 0), meanOfPowers(0, 1), 0});
  expectNear(outcome.logSumExp, {-inf, 0, std::log(2), -inf});
  outcome = run(packedText("offset(bottom_right)", "mask causal"), arguments);
  expectNear(outcome.output, {0, meanOfPowers(0, 1), meanOfPowers(0, 2), 0});
}

TEST(Rules, attention_a7_b_is_the_sequence) {
  std::vector<Argument> arguments = powers(4, 6);
  TestTensor query = i32({0, 2, 4}), key = i32({0, 3, 6}),
             lengths = i32({1, 2});
  arguments.insert(arguments.end(), {query.view(), key.view(), lengths.view()});
  KernelText text =
      packedText("", "mask key_padding(%lengths : tensor<?xi32>)");
  text.parameters += ", %lengths: tensor<?xi32>";
  expectNear(run(text, arguments).output,
             {1, 1, meanOfPowers(3, 4), meanOfPowers(3, 4)});
}

TEST(Rules, attention_a7_rows_of_no_sequence_ignore_the_sink) {
  std::vector<Argument> arguments = powers(3, 1);
  TestTensor query = i32({1, 2, 3}), key = i32({0, 1, 1}), sink = f64({1}, 0.0);
  arguments.insert(arguments.end(), {query.view(), key.view(), sink.view()});
  KernelText text = packedText("sink(%sink : tensor<1xf64>)");
  text.parameters += ", %sink: tensor<1xf64>";
  Outcome outcome = run(text, arguments);
  expectNear(outcome.output, {0, 0.5, 0});
  expectNear(outcome.logSumExp, {-inf, std::log(2), 0});
}

TEST(Rules, attention_a7_bad_cumulative_lengths) {
  std::vector<double> good = {0, 2, 4};
  for (const std::vector<double> &bad : std::vector<std::vector<double>>{
           {0, 3, 2}, {-1, 2, 4}, {0, 2, 7}, {5, 5, 5}, {0, 4}, {}}) {
    for (bool isKey : {false, true}) {
      // Key rows go up to 6, so 5 is fine there.
      if (isKey && bad == std::vector<double>{5, 5, 5})
        continue;
      std::vector<Argument> arguments = powers(4, 6);
      TestTensor query = i32(isKey ? good : bad), key = i32(isKey ? bad : good);
      arguments.insert(arguments.end(), {query.view(), key.view()});
      Outcome outcome = run(packedText("", "mask causal"), arguments);
      EXPECT_NE(outcome.error, "");
      EXPECT_TRUE(outcome.untouched);
    }
  }
  // Not even one number each.
  std::vector<Argument> arguments = powers(4, 6);
  TestTensor none = i32({});
  arguments.insert(arguments.end(), {none.view(), none.view()});
  Outcome outcome = run(packedText("", "mask causal"), arguments);
  EXPECT_NE(outcome.error.find("argument 'cu_q': expected at least 1 "
                               "element, got 0"),
            std::string::npos)
      << outcome.error;
  EXPECT_TRUE(outcome.untouched);
}

TEST(Rules, attention_a7_packed_batch_of_two) {
  TestTensor both = f64({2, 1, 4, 1}, 0.0), cumulative = i32({0, 4});
  Outcome outcome = run(packedText(""), {both.view(), both.view(), both.view(),
                                         cumulative.view(), cumulative.view()});
  EXPECT_NE(outcome.error, "");
  EXPECT_TRUE(outcome.untouched);
}

TEST(Rules, attention_a8_dropout_draws_from_philox) {
  constexpr Index batches = 2, heads = 3, rows = 5, keys = 9;
  constexpr double rate = 0.375;
  constexpr std::int64_t seed = -0x123456789ABCDEF;
  constexpr std::int32_t call = -7;
  KernelText text{.queryHeads = heads,
                  .valueSize = keys,
                  .clauses = "offset(%offset : index) "
                             "dropout(0.375, %seed, %call)",
                  .parameters = ", %offset: index, %seed: i64, %call: i32"};
  // Values are one-hot, so output d is the probability of key d.
  TestTensor query = f64({batches, heads, rows, 1}, 0.0),
             key = f64({batches, 1, keys, 1}, 0.0),
             value(ElementType::f64, {batches, 1, keys, keys});
  value.fill([](const Shape &index) { return index[2] == index[3]; });
  for (Index offset : {Index(0), Index(11), Index(-2)}) {
    Outcome outcome =
        run(text, {query.view(), key.view(), value.view(), offset, seed, call});
    std::size_t at = 0;
    int kept = 0;
    for (Index b = 0; b < batches; ++b)
      for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < rows; ++i)
          for (Index j = 0; j < keys; ++j) {
            auto words = reference::philox4x32(
                {std::uint32_t(j / 4), std::uint32_t(offset + i),
                 std::uint32_t(b * heads + h), std::uint32_t(call)},
                {std::uint32_t(seed),
                 std::uint32_t(std::uint64_t(seed) >> 32)});
            bool keep = words[std::size_t(j % 4)] >= 0x60000000u;
            kept += keep;
            EXPECT_NEAR(outcome.output[at++],
                        keep ? 1.0 / keys / (1 - rate) : 0, 1e-15);
          }
    EXPECT_GT(kept, 100); // Of 270; 169 are expected.
    EXPECT_LT(kept, 230);
    // Before dropout.
    for (double lse : outcome.logSumExp)
      EXPECT_NEAR(lse, std::log(keys), 1e-14);
  }
}

TEST(Rules, attention_a8_rate_of_zero_changes_nothing) {
  TestTensor query = normal(ElementType::f32, {2, 1, 5, 1}),
             key = normal(ElementType::f32, {2, 1, 7, 1});
  KernelText text{.type = ElementType::f32};
  Outcome plain = run(text, {query.view(), key.view(), key.view()});
  text.clauses = "dropout(0.0, %seed, %call)";
  text.parameters = ", %seed: i64, %call: i32";
  Outcome dropped = run(text, {query.view(), key.view(), key.view(), 3, 4});
  EXPECT_EQ(plain.output, dropped.output);
}

TEST(Rules, attention_a9_what_outs_holds_is_not_read) {
  std::string text = R"(
    func.func @attention(%query: tensor<1x1x2x1xf64>,
                         %output: tensor<1x1x2x1xf64>, %lse: tensor<1x1x2xf64>)
        -> (tensor<1x1x2x1xf64>, tensor<1x1x2xf64>) {
      %0:2 = attn.attention
          ins(%query, %query, %query : tensor<1x1x2x1xf64>,
              tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>)
          outs(%output, %lse : tensor<1x1x2x1xf64>, tensor<1x1x2xf64>)
          mask causal
      return %0#0, %0#1 : tensor<1x1x2x1xf64>, tensor<1x1x2xf64>
    })";
  TestTensor query = f64({1, 1, 2, 1}, 1.0),
             output = f64({1, 1, 2, 1}, quietNaN),
             lse = f64({1, 1, 2}, quietNaN);
  Expected<Kernel> kernel = getEngine().compile(text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  Outcome outcome = run(*kernel, {query.view(), output.view(), lse.view()});
  expectNear(outcome.output, {1, 1});
  expectNear(outcome.logSumExp, {1, 1 + std::log(2)});
  expectNear(output.elements(), {quietNaN, quietNaN}); // Not written either.
}

} // namespace

//===- RegionRulesTest.cpp - A10 to A12, executed -------------------------===//
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

#include "test/Execution/Covering.h"
#include "test/Execution/KernelCache.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

TEST(Rules, attention_a10_the_mask_comes_after_the_score) {
  // tanh would turn a masked -inf into -1, and let key 1 in.
  KernelText text{.clauses = "score softcap(1.0) mask causal"};
  Outcome outcome = run(text, powers(1, 2));
  expectNear(outcome.output, {1});
  expectNear(outcome.logSumExp, {0});
}

TEST(Rules, attention_a10_the_region_sees_the_true_score) {
  // A score of 3 would be seen as 3 log2(e) if exp2's factor were in it.
  TestTensor query = f64({1, 1, 1, 1}, 3.0), key = f64({1, 1, 1, 1}, 1.0);
  KernelText text{.clauses = "score softcap(2.0)"};
  Outcome outcome = run(text, {query.view(), key.view(), key.view()});
  EXPECT_NEAR(outcome.logSumExp[0], 2 * std::tanh(1.5), 1e-15);
}

TEST(Rules, attention_a10_caps_of_calls) {
  for (const std::string &pipeline : everyPipeline) {
    KernelText text{.type = ElementType::f32,
                    .keySize = 16,
                    .valueSize = 16,
                    .clauses = "score softcap(%cap : f64)",
                    .parameters = ", %cap: f64",
                    .pipeline = pipeline};
    TestTensor x = normal(ElementType::f32, {1, 1, 3, 16});
    auto runWith = [&](double cap) {
      return run(text, {x.view(), x.view(), x.view(), cap});
    };
    EXPECT_EQ(runWith(2.5).error, "");
    // Also what f32 rounds to 0 or infinity.
    for (double cap : {0.0, -0.0, -2.5, 1e-60, 1e60, inf, quietNaN}) {
      Outcome outcome = runWith(cap);
      EXPECT_NE(outcome.error.find("expected a positive, finite number as the "
                                   "cap of scores"),
                std::string::npos)
          << cap << outcome.error;
      EXPECT_TRUE(outcome.untouched);
    }
  }
}

/// Only what is called a cap has to be one.
TEST(Rules, attention_a10_tangents_that_regions_write_out) {
  for (const std::string &pipeline : everyPipeline) {
    KernelText text{.type = ElementType::f32,
                    .keySize = 16,
                    .valueSize = 16,
                    .clauses = R"(score(%s, %b, %h, %p, %j)
                        captures(%c = %factor : f32) {
                          %ratio = arith.divf %s, %c : f32
                          %tangent = math.tanh %ratio : f32
                          %r = arith.mulf %c, %tangent : f32
                          attn.yield %r : f32
                        })",
                    .parameters = ", %factor: f32",
                    .pipeline = pipeline};
    TestTensor x = normal(ElementType::f32, {1, 1, 3, 16});
    for (double factor : {-2.5, 2.5})
      EXPECT_EQ(run(text, {x.view(), x.view(), x.view(), factor}).error, "");
  }
}

TEST(Rules, attention_a10_scores_apply_in_their_order) {
  TestTensor query = f64({1, 1, 1, 1}, 3.0), key = f64({1, 1, 1, 1}, 1.0),
             bias = f64({1}, 5.0);
  std::vector<Argument> arguments = {query.view(), key.view(), key.view(),
                                     bias.view()};
  KernelText text{.parameters = ", %bias: tensor<1xf64>"};
  text.clauses = "score softcap(2.0), bias(%bias : tensor<1xf64>)";
  EXPECT_NEAR(run(text, arguments).logSumExp[0], 2 * std::tanh(1.5) + 5, 1e-14);
  text.clauses = "score bias(%bias : tensor<1xf64>), softcap(2.0)";
  EXPECT_NEAR(run(text, arguments).logSumExp[0], 2 * std::tanh(4), 1e-14);
}

TEST(Rules, attention_a10_arguments_of_the_regions) {
  // b, h, p and j all have their part in the score, as digits.
  KernelText text{.queryHeads = 3,
                  .keyValueHeads = 3,
                  .clauses = R"(offset(%offset : index)
      score(%s, %b, %h, %p, %j) {
        %ten = arith.constant 10 : index
        %0 = arith.muli %b, %ten : index
        %1 = arith.addi %0, %h : index
        %2 = arith.muli %1, %ten : index
        %3 = arith.addi %2, %p : index
        %4 = arith.muli %3, %ten : index
        %5 = arith.addi %4, %j : index
        %6 = arith.index_cast %5 : index to i64
        %7 = arith.sitofp %6 : i64 to f64
        attn.yield %7 : f64
      }
      mask(%b, %h, %p, %j) {
        %one = arith.constant 1 : index
        %keep = arith.cmpi eq, %j, %one : index
        attn.yield %keep : i1
      })",
                  .parameters = ", %offset: index"};
  TestTensor query = f64({2, 3, 1, 1}, 0.0), key = f64({2, 3, 2, 1}, 0.0);
  expectNear(
      run(text, {query.view(), key.view(), key.view(), Index(7)}).logSumExp,
      {71, 171, 271, 1071, 1171, 1271});
}

TEST(Rules, attention_a11_captures_of_every_kind) {
  KernelText text{.clauses = R"(score(%s, %b, %h, %p, %j)
      captures(%f = %float : f16, %i = %integer : i8, %n = %index : index,
               %c = %flag : i1, %t = %tensor : tensor<?x2xbf16>) {
        %x = arith.extf %f : f16 to f64
        %y = arith.sitofp %i : i8 to f64
        %k = arith.index_cast %n : index to i64
        %z = arith.sitofp %k : i64 to f64
        %one = arith.constant 1 : index
        %e = tensor.extract %t[%n, %one] : tensor<?x2xbf16>
        %w = arith.extf %e : bf16 to f64
        %0 = arith.addf %x, %y : f64
        %1 = arith.addf %0, %z : f64
        %2 = arith.addf %1, %w : f64
        %r = arith.select %c, %2, %s : f64
        attn.yield %r : f64
      })",
                  .parameters = ", %float: f16, %integer: i8, %index: index, "
                                "%flag: i1, %tensor: tensor<?x2xbf16>"};
  TestTensor one = f64({1, 1, 1, 1}, 1.0),
             table(ElementType::bf16, {3, 2}, {1, 2, 3, 4, 5, 0.5});
  auto score = [&](Index n, bool flag) {
    return run(text, {one.view(), one.view(), one.view(), 0.25, -100, n, flag,
                      table.view()});
  };
  EXPECT_EQ(score(2, true).logSumExp[0], 0.25 - 100 + 2 + 0.5);
  EXPECT_EQ(score(2, false).logSumExp[0], 1);
  EXPECT_NE(score(3, true).error, "");
  EXPECT_EQ(score(3, false).logSumExp[0], 1); // Not chosen (A12).
}

/// A boolean mask per key, on a table that is too short.
KernelText shortTable(const std::string &mask) {
  return {.clauses = "mask " + mask,
          .parameters = ", %table: tensor<?xi1>, %size: index"};
}

TEST(Rules, attention_a12_a_load_outside_its_tensor) {
  TestTensor table(ElementType::i1, {2}, {1, 1});
  std::vector<Argument> arguments = powers(2, 3);
  arguments.insert(arguments.end(), {Argument(table.view()), Argument(2)});
  std::string boolean = "boolean(%table : tensor<?xi1>)";
  EXPECT_NE(run(shortTable(boolean), arguments).error, "");
  // Row 1 still reads only keys 0 and 1: `false and` what the load gives.
  EXPECT_EQ(run(shortTable("causal, " + boolean), arguments).error, "");
  Outcome outcome = run(shortTable(boolean + ", causal"), arguments);
  expectNear(outcome.output, {meanOfPowers(0, 0), meanOfPowers(0, 1)});
}

TEST(Rules, attention_a12_a_score_counts_only_where_kept) {
  KernelText text{.clauses = "score bias(%bias : tensor<?xf64>)",
                  .parameters = ", %bias: tensor<?xf64>"};
  TestTensor bias = f64({2}, 0.0);
  std::vector<Argument> arguments = powers(2, 3);
  arguments.push_back(bias.view());
  EXPECT_NE(run(text, arguments).error, "");
  text.clauses += " mask causal";
  expectNear(run(text, arguments).output,
             {meanOfPowers(0, 0), meanOfPowers(0, 1)});
}

TEST(Rules, attention_a12_loads_far_outside) {
  // Where a wild load would crash.
  for (Index index : {Index(-1), Index(1) << 40, -(Index(1) << 62)}) {
    KernelText text{.clauses = R"(mask(%b, %h, %p, %j)
        captures(%t = %table : tensor<?xi1>, %i = %index : index) {
          %keep = tensor.extract %t[%i] : tensor<?xi1>
          attn.yield %keep : i1
        })",
                    .parameters = ", %table: tensor<?xi1>, %index: index"};
    TestTensor table(ElementType::i1, {2}, {1, 1});
    std::vector<Argument> arguments = powers(2, 3);
    arguments.insert(arguments.end(),
                     {Argument(table.view()), Argument(index)});
    EXPECT_NE(run(text, arguments).error, "");
    // Where another mask is false it does no harm.
    text.clauses.replace(0, 4,
                         "mask sliding_window(0, -1), "
                         "key_padding(%lengths : tensor<?xi32>), ");
    text.parameters += ", %lengths: tensor<?xi32>";
    TestTensor lengths = i32({0});
    arguments.push_back(lengths.view());
    expectNear(run(text, arguments).output, {0, 0});
  }
}

TEST(Rules, attention_a12_integer_division_by_zero) {
  KernelText text{.clauses = R"(mask(%b, %h, %p, %j)
      captures(%n = %size : index) {
        %x = arith.divui %p, %n : index
        %y = arith.divui %j, %n : index
        %keep = arith.cmpi eq, %x, %y : index
        attn.yield %keep : i1
      })",
                  .parameters = ", %size: index"};
  std::vector<Argument> arguments = powers(3, 4);
  arguments.push_back(2);
  expectNear(run(text, arguments).output,
             {meanOfPowers(0, 1), meanOfPowers(0, 1), meanOfPowers(2, 3)});
  arguments.back() = 0;
  Outcome outcome = run(text, arguments);
  EXPECT_NE(outcome.error.find("mask"), std::string::npos) << outcome.error;
  // No row, no division.
  std::vector<Argument> empty = powers(0, 4);
  empty.push_back(0);
  EXPECT_EQ(run(text, empty).error, "");
}

TEST(Rules, attention_a12_the_least_is_reported) {
  // Of the fourth head, keys from bounds[q] on are bad: threads and tiles meet
  // others before the least of them.
  KernelText text{.type = ElementType::f32,
                  .queryHeads = 4,
                  .keyValueHeads = 2,
                  .keySize = 8,
                  .valueSize = 8,
                  .clauses = R"(mask(%b, %h, %q, %k)
      captures(%t = %table : tensor<?x?xi1>, %n = %bounds : tensor<?xindex>) {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %bound = tensor.extract %n[%q] : tensor<?xindex>
        %is_late = arith.cmpi sge, %k, %bound : index
        %is_last = arith.cmpi eq, %h, %c3 : index
        %is_bad = arith.andi %is_late, %is_last : i1
        %index = arith.select %is_bad, %k, %c0 : index
        %keep = tensor.extract %t[%c0, %index] : tensor<?x?xi1>
        attn.yield %keep : i1
      })",
                  .parameters =
                      ", %table: tensor<?x?xi1>, %bounds: tensor<?xindex>"};
  constexpr Index rows = 40, keys = 300;
  TestTensor query = normal(ElementType::f32, {2, 4, rows, 8}),
             key = normal(ElementType::f32, {2, 2, keys, 8}),
             table(ElementType::i1, {1, 4}, {1, 1, 1, 1}),
             bounds(ElementType::i64, {rows});
  bounds.fill([](const Shape &index) {
    return index[0] == 0 ? 123 : 5 + double(index[0] % 7);
  });
  std::vector<Argument> arguments = {query.view(), key.view(), key.view(),
                                     table.view(), bounds.view()};
  for (auto [pipeline, threads] :
       {std::pair("cpu", 1u), std::pair("cpu", 2u), std::pair("cpu", 5u),
        std::pair("reference", 1u)}) {
    EngineOptions options;
    options.cacheDirectory = getCacheDirectory();
    options.threads = threads;
    Expected<Engine> engine = Engine::create(options);
    ASSERT_TRUE(engine.ok());
    Expected<Kernel> kernel =
        engine->compile(text.write(), {.pipeline = pipeline});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    std::string error = run(*kernel, arguments).error;
    EXPECT_NE(
        error.find("'attn.attention' op 'mask' region: index 5 in dimension "
                   "1 of 'table', of size 4 (line "),
        std::string::npos)
        << pipeline << ", " << threads << " threads: " << error;
    EXPECT_NE(error.find("), in batch entry 0, query head 3, query position 7, "
                         "key 5"),
              std::string::npos)
        << pipeline << ", " << threads << " threads: " << error;
  }
}

/// A mask, or a score, that has no value at position (1, 5, p, j), which `bad`
/// has.
std::string undefinedAtOne(bool isScore) {
  std::string region = R"( captures(%t = %table : tensor<?xi1>,
        %at = %bad : tensor<4xindex>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %three = arith.constant 3 : index
      %b0 = tensor.extract %at[%zero] : tensor<4xindex>
      %h0 = tensor.extract %at[%one] : tensor<4xindex>
      %p0 = tensor.extract %at[%two] : tensor<4xindex>
      %j0 = tensor.extract %at[%three] : tensor<4xindex>
      %is_b = arith.cmpi eq, %b, %b0 : index
      %is_h = arith.cmpi eq, %h, %h0 : index
      %is_p = arith.cmpi eq, %p, %p0 : index
      %is_j = arith.cmpi eq, %j, %j0 : index
      %both = arith.andi %is_b, %is_h : i1
      %three_of = arith.andi %both, %is_p : i1
      %all = arith.andi %three_of, %is_j : i1
      %index = arith.select %all, %three, %zero : index
      %keep = tensor.extract %t[%index] : tensor<?xi1>
  )";
  if (!isScore)
    return "mask(%b, %h, %p, %j)" + region + "attn.yield %keep : i1 }";
  return "score(%s, %b, %h, %p, %j)" + region +
         "%term = arith.uitofp %keep : i1 to f32\n"
         "%r = arith.addf %s, %term : f32\n"
         "attn.yield %r : f32 }";
}

TEST(Rules, attention_a12_names_the_position) {
  struct Case {
    Index queryHeads, keyValueHeads, queries, keys;
    std::string clauses;
    std::vector<Argument> operands; ///< Of the clauses.
    std::string parameters;
    std::array<Index, 4> bad; ///< Position without a value.
  };
  TestTensor offsets(ElementType::i64, {2}, {1000, 2000}),
      cumulativeQuery = i32({0, 30, 70}), cumulativeKey = i32({0, 100, 300}),
      table(ElementType::i1, {2}, {1, 1});
  std::string lengths = ", %cu_q: tensor<?xi32>, %cu_k: tensor<?xi32>";
  const std::vector<Case> cases = {
      // Tiles, of one head, one query, and of many.
      {8, 2, 90, 300, "", {}, "", {1, 5, 77, 290}},
      {8, 2, 90, 300, "offset(bottom_right)", {}, "", {1, 5, 287, 290}},
      // Groups of heads as rows, with an offset or one for each entry.
      {8, 2, 1, 300, "", {}, "", {1, 5, 0, 290}},
      {8, 2, 1, 300, "offset(bottom_right)", {}, "", {1, 7, 299, 290}},
      {8,
       2,
       1,
       300,
       "offset(%offset : index)",
       {-3},
       ", %offset: index",
       {1, 5, -3, 290}},
      {8,
       2,
       1,
       300,
       "offset(%offset : tensor<2xindex>)",
       {offsets.view()},
       ", %offset: tensor<2xindex>",
       {1, 6, 2000, 290}},
      // Keys in chunks.
      {2, 1, 1, 9000, "", {}, "", {1, 1, 0, 8500}},
      {8,
       2,
       70,
       300,
       "sequences(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>)",
       {cumulativeQuery.view(), cumulativeKey.view()},
       lengths,
       {1, 5, 39, 199}},
  };
  for (auto [given, isScore, pipeline] : coverPairs<Case, bool, std::string>(
           cases, {false, true}, {"cpu", "reference"})) {
    KernelText text{.type = ElementType::f32,
                    .queryHeads = given.queryHeads,
                    .keyValueHeads = given.keyValueHeads,
                    .keySize = 8,
                    .valueSize = 8,
                    .clauses = given.clauses + " " + undefinedAtOne(isScore),
                    .parameters = given.parameters + ", %table: tensor<?xi1>, "
                                                     "%bad: tensor<4xindex>"};
    bool isPacked = given.parameters == lengths;
    Index batch = isPacked ? 1 : 2;
    auto [b, h, p, j] = given.bad;
    TestTensor query = normal(text.type,
                              {batch, given.queryHeads, given.queries, 8}),
               key = normal(text.type,
                            {batch, given.keyValueHeads, given.keys, 8}),
               bad(ElementType::i64, {4},
                   {double(b), double(h), double(p), double(j)});
    std::vector<Argument> arguments = {query.view(), key.view(), key.view()};
    arguments.insert(arguments.end(), given.operands.begin(),
                     given.operands.end());
    arguments.insert(arguments.end(), {table.view(), bad.view()});
    std::string expected = "), in batch entry " + std::to_string(b) +
                           ", query head " + std::to_string(h) +
                           ", query position " + std::to_string(p) + ", key " +
                           std::to_string(j);
    text.pipeline = pipeline;
    Expected<Kernel> kernel =
        getEngine().compile(text.write(), {.pipeline = pipeline});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    std::string error = run(*kernel, arguments).error;
    EXPECT_NE(error.find(isScore ? "'score' region: index 3 in dimension 0 "
                                   "of 'table', of size 2 (line "
                                 : "'mask' region: index 3 in dimension 0 "
                                   "of 'table', of size 2 (line "),
              std::string::npos)
        << error;
    EXPECT_NE(error.find(expected), std::string::npos)
        << pipeline << ", expected" << expected << ": " << error;
  }
}

TEST(Rules, attention_a12_reasons) {
  struct Case {
    const char *body, *reason;
  };
  // `n` is 0.
  for (auto [body, reason] : {
           Case{"%x = arith.remsi %p, %n : index", "'arith.remsi' of 0 by 0"},
           Case{"%s = arith.addi %n, %c64 : index "
                "%x = arith.shli %c64, %s : index",
                "'arith.shli' of 64 by 64 bits"},
           Case{"%m = arith.subi %n, %c64 : index "
                "%i = arith.index_cast %n : index to i64 "
                "%l = arith.index_cast %m : index to i64 "
                "%y = math.ipowi %i, %l : i64 "
                "%x = arith.index_cast %y : i64 to index",
                "'math.ipowi' of 0 to the power -64"},
           Case{"%f = arith.constant 1.0e30 : f32 "
                "%y = arith.fptosi %f : f32 to i32 "
                "%z = arith.index_cast %n : index to i32 "
                "%w = arith.addi %y, %z : i32 "
                "%x = arith.index_cast %w : i32 to index",
                "'arith.fptosi' of a number that does not fit i32"},
       }) {
    KernelText text{.clauses = std::string(R"(mask(%b, %h, %p, %j)
      captures(%n = %size : index) {
        %c64 = arith.constant 64 : index
        )") + body + R"(
        %keep = arith.cmpi sge, %x, %j : index
        attn.yield %keep : i1
      })",
                    .parameters = ", %size: index"};
    std::vector<Argument> arguments = powers(3, 4);
    arguments.push_back(0);
    std::string error = run(text, arguments).error;
    EXPECT_NE(error.find(std::string("'mask' region: ") + reason + " (line "),
              std::string::npos)
        << error;
  }
}

TEST(Rules, attention_a12_a_kernel_works_after_an_error) {
  KernelText text{.clauses = "score bias(%bias : tensor<?xf64>)",
                  .parameters = ", %bias: tensor<?xf64>"};
  Expected<Kernel> kernel = getEngine().compile(text.write());
  ASSERT_TRUE(kernel.ok());
  std::vector<Argument> arguments = powers(2, 3);
  TestTensor small = f64({2}, 0.0), right = f64({3}, 0.0);
  for (int round = 0; round < 3; ++round) {
    arguments.resize(3, Index(0));
    arguments.push_back(small.view());
    EXPECT_NE(run(*kernel, arguments).error, "");
    arguments.back() = right.view();
    expectNear(run(*kernel, arguments).output,
               {meanOfPowers(0, 2), meanOfPowers(0, 2)});
  }
}

/// In the region and before it, a cast to few bits and back is a truncation.
TEST(Rules, attention_a11_casts_lose_what_does_not_fit) {
  for (std::string cast : {"arith.index_cast", "arith.index_castui"})
    for (const std::string &pipeline : everyPipeline) {
      SCOPED_TRACE(cast + " on " + pipeline);
      KernelText text{.type = ElementType::f32,
                      .keySize = 16,
                      .valueSize = 16,
                      .clauses = "score(%s, %b, %h, %p, %j) captures(%before = "
                                 "%wide : index) {\n%n = " +
                                 cast + " %p : index to i8\n%w = " + cast +
                                 " %n : i8 to index\n" + R"(
                        %c1000 = arith.constant 1000 : index
                        %0 = arith.muli %before, %c1000 : index
                        %1 = arith.addi %0, %w : index
                        %2 = arith.index_cast %1 : index to i64
                        %r = arith.sitofp %2 : i64 to f32
                        attn.yield %r : f32
                      })",
                      .parameters = ", %number: index",
                      .prologue = "%narrow = " + cast +
                                  " %number : index to i8\n%wide = " + cast +
                                  " %narrow : i8 to index\n",
                      .pipeline = pipeline};
      TestTensor query(ElementType::f32, {1, 1, 300, 16}),
          key(ElementType::f32, {1, 1, 1, 16});
      Outcome outcome = run(
          text, {query.view(), key.view(), key.view(), std::int64_t(0x1ff)});
      bool isSigned = cast == "arith.index_cast";
      std::vector<double> expected;
      for (int p = 0; p < 300; ++p)
        expected.push_back(isSigned ? std::int8_t(p) - 1000
                                    : std::uint8_t(p) + 255000);
      expectNear(outcome.logSumExp, expected, 0);
    }
}

} // namespace

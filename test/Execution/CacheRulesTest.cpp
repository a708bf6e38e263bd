//===- CacheRulesTest.cpp - C1 to C13, executed ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test is named after the rule of the documentation of attn.cache_append
// and attn.cache_read that it holds kernels to.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/TextReplacement.h"

#include "gtest/gtest.h"

#include <cmath>
#include <tuple>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// One head of one element: rows are numbers.
string writeAppend(const string &kind, const string &parameters = "",
                   const string &type = "f32") {
  string cache = "tensor<?x1x?x1x" + type + ">";
  return "func.func @f(%rows: tensor<?x1x?x1xf32>, %cache: " + cache +
         ", %lengths: tensor<?xi32>" + parameters + ") -> " + cache +
         " {\n%0 = attn.cache_append ins(%rows : tensor<?x1x?x1xf32>) "
         "outs(%cache : " +
         cache + ") lengths(%lengths : tensor<?xi32>) " + kind +
         "\nreturn %0 : " + cache + "\n}\n";
}

TestTensor f32(const Shape &shape, const std::vector<double> &elements) {
  return TestTensor(ElementType::f32, shape, elements);
}

void expectError(const Results &results, const string &part) {
  EXPECT_NE(results.error.find(part), string::npos) << results.error;
}

TEST(CacheRules, c1_contiguous) {
  Results results = runEverywhere(
      writeAppend(""), {f32({2, 1, 2, 1}, {1, 2, 3, 4}),
                        f32({2, 1, 3, 1}, {9, 9, 9, 8, 8, 8}), i32({1, 0})});
  EXPECT_EQ(results.tensors[0].elements(),
            (std::vector<double>{9, 1, 2, 3, 4, 8}));
}

TEST(CacheRules, c2_ring) {
  Results results = runEverywhere(
      writeAppend("ring"), {f32({1, 1, 2, 1}, {1, 2}),
                            f32({1, 1, 3, 1}, {7, 8, 9}), i32({2000000006})});
  // 2000000006 mod 3 is 2.
  EXPECT_EQ(results.tensors[0].elements(), (std::vector<double>{2, 8, 1}));
}

const char *paged = "table(%table : tensor<?x?xi32>)";
const char *pagedParameters = ", %table: tensor<?x?xi32>";

TestTensor table(const Shape &shape, const std::vector<double> &elements) {
  return TestTensor(ElementType::i32, shape, elements);
}

TEST(CacheRules, c3_paged) {
  Results results = runEverywhere(writeAppend(paged, pagedParameters),
                                  {f32({2, 1, 2, 1}, {1, 2, 3, 4}),
                                   f32({4, 1, 2, 1}, {0, 0, 0, 0, 0, 0, 0, 0}),
                                   i32({1, 2}), table({2, 2}, {3, 0, 1, 2})});
  EXPECT_EQ(results.tensors[0].elements(),
            (std::vector<double>{2, 0, 0, 0, 3, 4, 0, 1}));
}

TEST(CacheRules, c6_counts) {
  TestTensor rows = f32({2, 1, 2, 1}, {1, 2, 3, 4}),
             cache = f32({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0}),
             lengths = i32({1, 1});
  string text = writeAppend("counts(%counts : tensor<?xi32>)",
                            ", %counts: tensor<?xi32>");
  EXPECT_EQ(runEverywhere(text, {rows, cache, lengths, i32({0, 1})})
                .tensors[0]
                .elements(),
            (std::vector<double>{0, 0, 0, 0, 3, 0}));
  expectError(runEverywhere(text, {rows, cache, lengths, i32({0, 3})}),
              "'counts'");
  expectError(runEverywhere(text, {rows, cache, lengths, i32({0, -1})}),
              "'counts'");
}

TEST(CacheRules, c7_int8) {
  const char *text = R"(
    func.func @f(%rows: tensor<1x1x?x2xf32>, %cache: tensor<1x1x?x2xi8>,
                 %scales: tensor<1x1x?xf32>, %lengths: tensor<1xi32>, %n: index)
        -> (tensor<1x1x?x2xi8>, tensor<1x1x?xf32>, tensor<1x1x?x2xf32>) {
      %0:2 = attn.cache_append ins(%rows : tensor<1x1x?x2xf32>)
          outs(%cache, %scales : tensor<1x1x?x2xi8>, tensor<1x1x?xf32>)
          lengths(%lengths : tensor<1xi32>)
      %c5 = arith.constant dense<7> : tensor<1xi32>
      %1 = attn.cache_read ins(%0#0, %0#1 : tensor<1x1x?x2xi8>,
              tensor<1x1x?xf32>) lengths(%c5 : tensor<1xi32>) size(%n)
          -> tensor<1x1x?x2xf32>
      return %0#0, %0#1, %1
          : tensor<1x1x?x2xi8>, tensor<1x1x?xf32>, tensor<1x1x?x2xf32>
    })";
  double tiny = 0x1p-149;
  TestTensor rows = f32({1, 1, 7, 2}, {127, 2.5, 0, -0.0, quietNaN, 1, inf, 1,
                                       -254, 3, 190 * tiny, 0, 10 * tiny, 0}),
             cache(ElementType::i8, {1, 1, 7, 2}),
             scales(ElementType::f32, {1, 1, 7});
  Results results = runEverywhere(text, {rows, cache, scales, i32({0}), 7});
  ASSERT_EQ(results.error, "");
  // Ties go to the even number: 2.5 to 2, and 3 / 2 = 1.5 to 2.
  expectNear(results.tensors[0].elements(),
             {127, 2, 0, 0, 0, 0, 0, 0, -127, 2, 127, 0, 0, 0});
  expectNear(results.tensors[1].elements(),
             {1, 0, quietNaN, quietNaN, 2, tiny, 0}, 0);
  expectNear(results.tensors[2].elements(),
             {127, 2, 0, 0, quietNaN, quietNaN, quietNaN, quietNaN, -254, 4,
              127 * tiny, 0, 0, 0},
             0);
}

TEST(CacheRules, c5_8_bits) {
  string text = R"(
    func.func @f(%rows: tensor<1x1x?x2xf32>, %cache: tensor<1x1x?x2xTYPE>,
                 %lengths: tensor<1xi32>, %n: index)
        -> (tensor<1x1x?x2xTYPE>, tensor<1x1x?x2xf32>) {
      %0 = attn.cache_append ins(%rows : tensor<1x1x?x2xf32>)
          outs(%cache : tensor<1x1x?x2xTYPE>) lengths(%lengths : tensor<1xi32>)
      %all = arith.constant dense<8> : tensor<1xi32>
      %1 = attn.cache_read ins(%0 : tensor<1x1x?x2xTYPE>)
          lengths(%all : tensor<1xi32>) size(%n) -> tensor<1x1x?x2xf32>
      return %0, %1 : tensor<1x1x?x2xTYPE>, tensor<1x1x?x2xf32>
    })";
  struct Case {
    ElementType type;
    std::vector<double> rows, stored;
  };
  const Case cases[] = {
      // Ties, the smallest number and half of it, and what is too large.
      {ElementType::f8e4m3fn,
       {1.0625, 1.1875, 0x1p-9, 0x1p-10, 0x1.8p-9, -17, 448, 449, 464, -1e30,
        inf, -inf, quietNaN, -0.0, 0x1.ffp-7, 240},
       {1, 1.25, 0x1p-9, 0, 0x1p-8, -16, 448, 448, 448, -448, 448, -448,
        quietNaN, 0, 0x1p-6, 240}},
      {ElementType::f8e5m2,
       {1.125, 1.375, 0x1p-16, 0x1p-17, 0x1.8p-16, -18, 57344, 57345, 61440,
        -1e30, inf, -inf, quietNaN, -0.0, 0x1.ffp-15, 448},
       {1, 1.5, 0x1p-16, 0, 0x1p-15, -16, 57344, 57344, 57344, -57344, 57344,
        -57344, quietNaN, 0, 0x1p-14, 448}}};
  for (const Case &test : cases) {
    TestTensor cache(test.type, {1, 1, 8, 2});
    Results results =
        runEverywhere(replaceAll(text, "TYPE", string(nameOf(test.type))),
                      {f32({1, 1, 8, 2}, test.rows), cache, i32({0}), 8});
    ASSERT_EQ(results.error, "");
    for (const TestTensor &result : results.tensors) {
      expectNear(result.elements(), test.stored, 0);
      EXPECT_TRUE(std::signbit(*result.get({0, 0, 6, 1}))); // Of -0.
    }
  }

  // f64 is rounded once: f32 would have the middle of two numbers.
  constexpr double little = 0x1p-40;
  text = replaceAll(text, "2xf32>, %cache", "2xf64>, %cache");
  text = replaceAll(text, "%rows : tensor<1x1x?x2xf32>",
                    "%rows : tensor<1x1x?x2xf64>");
  for (auto [type, middle, next] :
       {std::tuple(ElementType::f8e4m3fn, 1.0625, 1.125),
        std::tuple(ElementType::f8e5m2, 1.125, 1.25)}) {
    TestTensor rows(ElementType::f64, {1, 1, 1, 2},
                    {middle + little, -middle + little}),
        cache(type, {1, 1, 8, 2});
    Results results =
        runEverywhere(replaceAll(text, "TYPE", string(nameOf(type))),
                      {rows, cache, i32({0}), 1});
    ASSERT_EQ(results.error, "");
    expectNear(results.tensors[1].elements(), {next, -1}, 0);
  }
}

TEST(CacheRules, c9_lengths) {
  TestTensor rows = f32({2, 1, 2, 1}, {1, 2, 3, 4}),
             cache = f32({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0});
  expectError(runEverywhere(writeAppend(""), {rows, cache, i32({0, -1})}),
              "'lengths'");
  expectError(runEverywhere(writeAppend(""), {rows, cache, i32({0, 2})}),
              "longer than the cache's capacity");
  expectError(runEverywhere(writeAppend("ring"),
                            {f32({1, 1, 4, 1}, {1, 2, 3, 4}),
                             f32({1, 1, 3, 1}, {0, 0, 0}), i32({0})}),
              "more rows are appended than the ring holds");
}

TEST(CacheRules, c9_says_which_sequence) {
  TestTensor rows = f32({2, 1, 2, 1}, {1, 2, 3, 4}),
             cache = f32({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0});
  expectError(runEverywhere(writeAppend(""), {rows, cache, i32({0, 2})}),
              "longer than the cache's capacity: sequence 1 has 2 rows and "
              "would get 2 more, of at most 3");
  expectError(runEverywhere(writeAppend(""), {rows, cache, i32({0, -1})}),
              "from 0 to 2^61: got -1 for sequence 1");
  expectError(runEverywhere(writeAppend("ring"),
                            {f32({1, 1, 4, 1}, {1, 2, 3, 4}),
                             f32({1, 1, 3, 1}, {0, 0, 0}), i32({0})}),
              "than the ring holds: 4 rows to sequence 0, of at most 3");
  auto append = [&](const std::vector<double> &pages) {
    return runEverywhere(writeAppend(paged, pagedParameters),
                         {f32({2, 1, 1, 1}, {1, 2}),
                          f32({4, 1, 2, 1}, {0, 0, 0, 0, 0, 0, 0, 0}),
                          i32({3, 2}), table({2, 2}, pages)});
  };
  expectError(append({0, 1, 2, 4}),
              "not one of the cache's: [1, 1] is 4, of 4 pages");
  expectError(append({0, 1, 2, 1}),
              "in the used part of the table: [0, 1] is 1");
}

TEST(CacheRules, c9_pages) {
  string text = writeAppend(paged, pagedParameters);
  TestTensor rows = f32({2, 1, 1, 1}, {1, 2}),
             cache = f32({4, 1, 2, 1}, {0, 0, 0, 0, 0, 0, 0, 0});
  auto append = [&](const std::vector<double> &pages,
                    const std::vector<double> &lengths) {
    return runEverywhere(text,
                         {rows, cache, i32(lengths), table({2, 2}, pages)});
  };
  EXPECT_EQ(append({0, 1, 2, 3}, {3, 0}).error, "");
  // What is not used may be anything.
  EXPECT_EQ(append({0, -1, 2, 77}, {1, 1}).error, "");
  // A full page may be shared, and one that was given back may be missing.
  EXPECT_EQ(append({0, 1, 0, 3}, {2, 2}).error, "");
  EXPECT_EQ(append({-1, 1, -1, 3}, {2, 2}).error, "");
  expectError(append({0, 4, 2, 3}, {2, 0}), "not one of the cache's");
  expectError(append({0, -1, 2, 3}, {2, 0}), "not one of the cache's");
  expectError(append({0, 1, 0, 3}, {1, 0}), "stands elsewhere");
  expectError(append({0, 1, 0, 3}, {1, 2}), "stands elsewhere");
  expectError(append({0, 0, 2, 3}, {2, 0}), "stands elsewhere");
  expectError(append({0, 1, 2, 3}, {4, 0}), "pages in argument 'table' hold");
}

/// Reads a cache of one head of one element, and attends to it.
string writeAttend(const string &kind, const string &mask,
                   const string &parameters = "") {
  return R"(func.func @f(%query: tensor<?x1x?x1xf32>, %cache: tensor<?x1x?x1xf32>,
                 %lengths: tensor<?xi32>, %offset: tensor<?xi32>, %n: index)" +
         parameters + R"() -> tensor<?x1x?x1xf32> {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %batch = tensor.dim %query, %c0 : tensor<?x1x?x1xf32>
      %length = tensor.dim %query, %c2 : tensor<?x1x?x1xf32>
      %key = attn.cache_read ins(%cache : tensor<?x1x?x1xf32>)
          lengths(%lengths : tensor<?xi32>) )" +
         kind + R"( size(%n) -> tensor<?x1x?x1xf32>
      %o = tensor.empty(%batch, %length) : tensor<?x1x?x1xf32>
      %0 = attn.attention ins(%query, %key, %key : tensor<?x1x?x1xf32>,
              tensor<?x1x?x1xf32>, tensor<?x1x?x1xf32>)
          outs(%o : tensor<?x1x?x1xf32>) offset(%offset : tensor<?xi32>)
          )" +
         mask + R"(
      return %0 : tensor<?x1x?x1xf32>
    })";
}

TEST(CacheRules, c12_absent_rows) {
  TestTensor query = f32({2, 1, 1, 1}, {0, 0}),
             cache = f32({2, 1, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto attend = [&](const string &mask, const std::vector<double> &lengths,
                    const std::vector<double> &offset, Index n) {
    return runEverywhere(writeAttend("", mask),
                         {query, cache, i32(lengths), i32(offset), n});
  };
  // What is asked for is there.
  EXPECT_EQ(attend("", {2, 2}, {0, 0}, 2).tensors[0].elements(),
            (std::vector<double>{1.5, 5.5}));
  EXPECT_EQ(attend("mask causal", {2, 3}, {1, 2}, 4).tensors[0].elements(),
            (std::vector<double>{1.5, 6}));
  EXPECT_EQ(
      attend("mask key_padding(%lengths : tensor<?xi32>)", {2, 0}, {1, 2}, 4)
          .tensors[0]
          .elements(),
      (std::vector<double>{1.5, 0}));
  // What is not: of one sequence, of a mask that only an evaluation can tell.
  expectError(attend("", {2, 3}, {0, 0}, 3), "absent");
  expectError(attend("mask causal", {2, 3}, {1, 3}, 4), "absent");
  string modulo = R"(mask(%b, %h, %p, %j) {
      %c2 = arith.constant 2 : index
      %c1 = arith.constant 1 : index
      %rest = arith.remui %j, %c2 : index
      %keep = arith.cmpi eq, %rest, %c1 : index
      attn.yield %keep : i1
    })";
  EXPECT_EQ(attend(modulo, {4, 2}, {0, 0}, 3).tensors[0].elements(),
            (std::vector<double>{2, 6}));
  expectError(attend(modulo, {4, 1}, {0, 0}, 3), "absent");
}

TEST(CacheRules, c12_ring) {
  TestTensor query = f32({1, 1, 2, 1}, {0, 0}),
             cache = f32({1, 1, 4, 1}, {5, 6, 3, 4}); // Positions 4 5 2 3.
  auto attend = [&](const string &mask, Index length) {
    return runEverywhere(writeAttend("ring", mask),
                         {query, cache, i32({double(length)}),
                          i32({double(length - 2)}), length});
  };
  // Capacity is the window and the query length, less 1.
  EXPECT_EQ(attend("mask sliding_window(2, 0)", 6).tensors[0].elements(),
            (std::vector<double>{4, 5}));
  expectError(attend("mask sliding_window(3, 0)", 6), "absent");
  expectError(attend("mask causal", 6), "absent");
  expectNear(attend("mask causal", 4).tensors[0].elements(), {14.0 / 3, 4.5},
             1e-6);
}

TEST(CacheRules, c12_ring_of_an_append) {
  auto step = [](const string &window, double length) {
    return runEverywhere(
        R"(func.func @f(%row: tensor<1x1x1x1xf32>,
          %cache: tensor<1x1x4x1xf32> {bufferization.writable = true},
          %before: tensor<1xi32>, %after: tensor<1xi32>, %n: index)
          -> (tensor<1x1x1x1xf32>, tensor<1x1x4x1xf32>) {
      %stored = attn.cache_append ins(%row : tensor<1x1x1x1xf32>)
          outs(%cache : tensor<1x1x4x1xf32>) lengths(%before : tensor<1xi32>) ring
      %key = attn.cache_read ins(%stored : tensor<1x1x4x1xf32>)
          lengths(%after : tensor<1xi32>) ring size(%n) -> tensor<1x1x?x1xf32>
      %o = tensor.empty() : tensor<1x1x1x1xf32>
      %0 = attn.attention ins(%row, %key, %key : tensor<1x1x1x1xf32>,
              tensor<1x1x?x1xf32>, tensor<1x1x?x1xf32>)
          outs(%o : tensor<1x1x1x1xf32>) offset(bottom_right)
          mask sliding_window()" +
            window + R"(, 0)
      return %0, %stored : tensor<1x1x1x1xf32>, tensor<1x1x4x1xf32>
    })",
        {f32({1, 1, 1, 1}, {0}), f32({1, 1, 4, 1}, {5, 6, 3, 4}), i32({length}),
         i32({length + 1}), Index(length) + 1});
  };
  // Positions 3 to 6, of which the last one is new.
  EXPECT_EQ(step("3", 6).tensors[0].elements(), (std::vector<double>{3.75}));
  // The row of position 2 is not overwritten before the error.
  expectError(step("4", 6), "absent");
}

TEST(CacheRules, c12_zeros_to_other_ops) {
  Results results =
      runEverywhere(R"(
    func.func @f(%cache: tensor<?x1x?x1xf32>, %lengths: tensor<?xi32>)
        -> tensor<?x1x5x1xf32> {
      %0 = attn.cache_read ins(%cache : tensor<?x1x?x1xf32>)
          lengths(%lengths : tensor<?xi32>) ring -> tensor<?x1x5x1xf32>
      return %0 : tensor<?x1x5x1xf32>
    })",
                    {f32({2, 1, 2, 1}, {1, 2, 3, 4}), i32({4, 1})});
  EXPECT_EQ(results.tensors[0].elements(),
            (std::vector<double>{0, 0, 1, 2, 0, 3, 0, 0, 0, 0}));
}

TEST(CacheRules, c13_reads) {
  auto read = [](const string &kind, const string &parameters,
                 const std::vector<TestArgument> &arguments) {
    return runEverywhere("func.func @f(%cache: tensor<?x1x?x1xf32>, %lengths: "
                         "tensor<?xi64>, %n: index" +
                             parameters +
                             ") -> tensor<?x1x?x1xf32> {\n%0 = attn.cache_read "
                             "ins(%cache : tensor<?x1x?x1xf32>) "
                             "lengths(%lengths : tensor<?xi64>) " +
                             kind +
                             " size(%n) -> tensor<?x1x?x1xf32>\nreturn %0 : "
                             "tensor<?x1x?x1xf32>\n}",
                         arguments);
  };
  TestTensor cache = f32({2, 1, 2, 1}, {1, 2, 3, 4});
  auto lengths = [](const std::vector<double> &elements) {
    return TestTensor(ElementType::i64, {Index(elements.size())}, elements);
  };
  expectError(read("", "", {cache, lengths({1, 3}), 2}), "capacity");
  expectError(read("", "", {cache, lengths({1, -1}), 2}), "'lengths'");
  expectError(read("ring", "", {cache, lengths({1, 0x1p62}), 2}), "'lengths'");
  // Of the first positions, the page is there.
  TestTensor pages = table({1, 2}, {1, 5});
  EXPECT_EQ(read(paged, pagedParameters, {cache, lengths({3}), 2, pages})
                .tensors[0]
                .elements(),
            (std::vector<double>{3, 4}));
  expectError(read(paged, pagedParameters, {cache, lengths({3}), 3, pages}),
              "not one of the cache's");
  expectError(read(paged, pagedParameters, {cache, lengths({5}), 1, pages}),
              "'lengths'");
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

const char *writable = " {bufferization.writable = true}";

/// Appends to two caches, of which the first is written first.
string writeAppendTwice() {
  string rows = "tensor<?x1x?x1xf32>";
  string text = "func.func @f(%rows: " + rows + ", %keys: " + rows + writable +
                ", %values: " + rows + writable +
                ", %lengths: tensor<?xi32>) -> (" + rows + ", " + rows + ", " +
                rows + ") {\n";
  for (string name : {"keys", "values"})
    text += "%" + name + "1 = attn.cache_append ins(%rows : " + rows +
            ") outs(%" + name + " : " + rows +
            ") lengths(%lengths : tensor<?xi32>)\n";
  return text + "return %values1, %rows, %keys1 : " + rows + ", " + rows +
         ", " + rows + "\n}\n";
}

TEST(CacheRules, c8_in_place) {
  TestTensor rows = f32({1, 1, 1, 1}, {1}), keys = f32({1, 1, 3, 1}, {4, 5, 6}),
             values = f32({1, 1, 2, 1}, {7, 8});
  Results results =
      runEverywhere(writeAppendTwice(), {rows, keys, values, i32({1})});
  ASSERT_EQ(results.error, "");
  EXPECT_EQ(results.tensors[0].elements(), (std::vector<double>{7, 1}));
  EXPECT_EQ(results.tensors[1].elements(), (std::vector<double>{1}));
  EXPECT_EQ(results.tensors[2].elements(), (std::vector<double>{4, 1, 6}));
}

TEST(CacheRules, c8_what_a_cache_held_before) {
  // The old contents are a result too, so that the new ones are copied back.
  string rows = "tensor<?x1x?x1xf32>";
  Results results = runEverywhere(
      "func.func @f(%rows: " + rows + ", %keys: " + rows + writable +
          ", %lengths: tensor<?xi32>) -> (" + rows + ", " + rows +
          ") {\n%0 = attn.cache_append ins(%rows : " + rows +
          ") outs(%keys : " + rows +
          ") lengths(%lengths : tensor<?xi32>)\n"
          "%1 = attn.cache_read ins(%keys : " +
          rows +
          ") lengths(%lengths : tensor<?xi32>) ring -> tensor<?x1x3x1xf32>\n"
          "%2 = tensor.cast %1 : tensor<?x1x3x1xf32> to " +
          rows + "\nreturn %0, %2 : " + rows + ", " + rows + "\n}\n",
      {f32({1, 1, 1, 1}, {1}), f32({1, 1, 3, 1}, {4, 5, 6}), i32({2})});
  ASSERT_EQ(results.error, "");
  EXPECT_EQ(results.tensors[0].elements(), (std::vector<double>{4, 5, 1}));
  EXPECT_EQ(results.tensors[1].elements(), (std::vector<double>{4, 5, 0}));
}

TEST(CacheRules, c9_an_error_leaves_all_caches) {
  // The second cache is full; the first one has room.
  TestTensor rows = f32({1, 1, 1, 1}, {1}), keys = f32({1, 1, 3, 1}, {4, 5, 6}),
             values = f32({1, 1, 2, 1}, {7, 8});
  expectError(runEverywhere(writeAppendTwice(), {rows, keys, values, i32({2})}),
              "longer than the cache's capacity");
}

TEST(CacheRules, c8_results_that_update_are_their_arguments) {
  Expected<Kernel> kernel = getEngine().compile(writeAppendTwice());
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(kernel->signature().results[0].updates, 2);
  EXPECT_EQ(kernel->signature().results[1].updates, -1);
  EXPECT_EQ(kernel->signature().results[2].updates, 1);
  TestTensor rows = f32({1, 1, 1, 1}, {1}), copy = f32({1, 1, 1, 1}, {1}),
             keys = f32({1, 1, 3, 1}, {4, 5, 6}),
             values = f32({1, 1, 3, 1}, {7, 8, 9}),
             others = f32({1, 1, 3, 1}, {0, 0, 0}), lengths = i32({1});
  auto run = [&](const TensorView &first, const TensorView &second) {
    Status status =
        kernel->run({rows.view(), keys.view(), values.view(), lengths.view()},
                    {first, copy.mutableView(), second});
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(run(values.mutableView(), keys.mutableView()), "");
  EXPECT_NE(
      run(values.mutableView(), others.mutableView()).find("the same view"),
      string::npos);
  EXPECT_NE(run(keys.mutableView(), values.mutableView()).find("the same view"),
            string::npos);
  EXPECT_NE(run(values.mutableView(), keys.view()).find("read-only"),
            string::npos);
  EXPECT_EQ(keys.elements(), (std::vector<double>{4, 1, 6}));
}

} // namespace

//===- RowOpsTest.cpp - attn.head_norm and attn.dropout, executed ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/Random.h"
#include "test/Execution/RuleTesting.h"
#include "test/Execution/Seeds.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

string writeRows(Index heads, Index size, ElementType type) {
  return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(size) +
         "x" + string(nameOf(type)) + ">";
}

/// `weight` is a type, or empty.
string writeNorm(Index heads, Index size, ElementType type,
                 const string &weight, const string &clauses) {
  string rows = writeRows(heads, size, type);
  return "func.func @f(%x: " + rows +
         (weight.empty() ? "" : ", %w: " + weight) + ") -> " + rows +
         " {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n"
         "%b = tensor.dim %x, %c0 : " +
         rows + "\n%s = tensor.dim %x, %c2 : " + rows +
         "\n%empty = tensor.empty(%b, %s) : " + rows +
         "\n%0 = attn.head_norm ins(%x" +
         (weight.empty() ? " : " + rows : ", %w : " + rows + ", " + weight) +
         ") outs(%empty : " + rows + ") " + clauses + "\nreturn %0 : " + rows +
         "\n}\n";
}

TEST(HeadNorm, n4_layer) {
  // The root of the mean of squares is 5.
  TestTensor x(ElementType::f64, {1, 1, 1, 2}, {1, 7});
  auto run = [&](const string &clauses) {
    return runEverywhere(writeNorm(1, 2, ElementType::f64, "",
                                   "epsilon(1.0e-300) " + clauses),
                         {x})
        .tensors[0]
        .elements();
  };
  expectNear(run(""), {0.2, 1.4});
  expectNear(run("layer(0)"), {0.16, 1.12});
  double scale = 0.2 + 0.6 * std::exp(-0.9);
  expectNear(run("layer(3)"), {0.2 * scale, 1.4 * scale});
}

TEST(HeadNorm, n3_rows_of_zeros) {
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    Results results =
        runEverywhere(writeNorm(2, 3, type, "", ""),
                      {TestTensor(type, {1, 2, 1, 3}, {0, 0, 0, 0, 0, 0})});
    EXPECT_EQ(results.tensors[0].elements(), std::vector<double>(6, 0));
  }
}

TEST(HeadNorm, random) {
  forSeeds(7600, numCases(24), [&](Random &random) {
    ElementType type =
        random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                  ElementType::f16, ElementType::bf16});
    ElementType weightType = random.chance(0.5) ? type : ElementType::f32;
    Index batch = random.between(0, 3), heads = random.between(1, 3),
          length = random.between(0, 7), size = random.between(1, 70);
    Layout layout;
    if (random.chance(0.5))
      layout.order = {0, 2, 1, 3};
    layout.rowPadding = random.between(0, 2);
    TestTensor x(type, {batch, heads, length, size}, layout);
    x.fill([&] { return random.normal(); });
    Index weights = random.between(0, 2);
    TestTensor weight(weightType,
                      weights == 2 ? Shape{heads, size} : Shape{size});
    weight.fill([&] { return 1 + 0.2 * random.normal(); });
    string weightText =
        "tensor<" + (weights == 2 ? std::to_string(heads) + "x" : string()) +
        std::to_string(size) + "x" + string(nameOf(weightType)) + ">";
    std::vector<TestArgument> arguments = {x};
    if (weights > 0)
      arguments.push_back(weight);
    string clauses = random.pick<string>(
        {"", "epsilon(1.0e-6)", "epsilon(0.5) layer(2)", "layer(9)"});
    Results results = runEverywhere(
        writeNorm(heads, size, type, weights > 0 ? weightText : "", clauses),
        arguments);
    EXPECT_EQ(results.error, "");
  });
}

TEST(HeadNorm, n1_output_of_another_size) {
  string rows = writeRows(1, 4, ElementType::f32);
  string text = "func.func @f(%x: " + rows + ", %y: " + rows + ") -> " + rows +
                " {\n%0 = attn.head_norm ins(%x : " + rows +
                ") outs(%y : " + rows + ")\nreturn %0 : " + rows + "\n}\n";
  TestTensor x = normal(ElementType::f32, {1, 1, 3, 4}),
             y = normal(ElementType::f32, {1, 1, 2, 4});
  EXPECT_NE(runEverywhere(text, {x, y}).error.find("sequence length"),
            string::npos);
}

/// A step of a model: keys are normalised and rotated as they are appended,
/// queries where they are used.
TEST(HeadNorm, before_rope_and_attention) {
  std::uint64_t seed = 7650;
  for (ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16})
    for (Index length : {1, 5, 40}) {
      SCOPED_TRACE(string(nameOf(type)) + ", " + std::to_string(length));
      string element(nameOf(type)), query = writeRows(4, 32, type),
                                    key = writeRows(2, 32, type);
      string table = "tensor<64x16xf32>";
      string text =
          "func.func @f(%q: " + query + ", %k: " + key + ", %v: " + key +
          ", %keys: " + key +
          " {bufferization.writable = true}, %qw: tensor<32x" + element +
          ">, %kw: tensor<2x32xf32>, %c: " + table + ", %s: " + table +
          ", %n: tensor<?xi32>, %size: index) -> (" + query + ", " + key +
          ") {\n"
          "%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n"
          "%b = tensor.dim %q, %c0 : " +
          query + "\n%l = tensor.dim %q, %c2 : " + query +
          "\n%eq = tensor.empty(%b, %l) : " + query +
          "\n%ek = tensor.empty(%b, %l) : " + key +
          "\n%qn = attn.head_norm ins(%q, %qw : " + query + ", tensor<32x" +
          element + ">) outs(%eq : " + query + ") epsilon(1.0e-6)" +
          "\n%kn = attn.head_norm ins(%k, %kw : " + key +
          ", tensor<2x32xf32>) outs(%ek : " + key + ")" +
          "\n%qr = attn.rope half_split ins(%qn, %c, %s : " + query + ", " +
          table + ", " + table + ") outs(%eq : " + query +
          ") offset(%n : tensor<?xi32>)" +
          "\n%kr = attn.rope half_split ins(%kn, %c, %s : " + key + ", " +
          table + ", " + table + ") outs(%ek : " + key +
          ") offset(%n : tensor<?xi32>)" +
          "\n%new = attn.cache_append ins(%kr : " + key +
          ") outs(%keys : " + key + ") lengths(%n : tensor<?xi32>)" +
          "\n%out = attn.attention ins(%qr, %new, %v : " + query + ", " + key +
          ", " + key + ") outs(%eq : " + query +
          ") offset(%n : tensor<?xi32>) mask causal" +
          "\nreturn %out, %new : " + query + ", " + key + "\n}\n";
      TestTensor angles(ElementType::f32, {64, 16}),
          sines(ElementType::f32, {64, 16}), before(ElementType::i32, {2});
      angles.fill([](const Shape &i) { return std::cos(double(i[0] * i[1])); });
      sines.fill([](const Shape &i) { return std::sin(double(i[0] * i[1])); });
      before.fill([](const Shape &i) { return double(3 * i[0]); });
      Results results =
          runEverywhere(text, {normal(type, {2, 4, length, 32}, seed),
                               normal(type, {2, 2, length, 32}, seed + 1),
                               normal(type, {2, 2, 48, 32}, seed + 2),
                               normal(type, {2, 2, 48, 32}, seed + 3),
                               normal(type, {32}, seed + 4),
                               normal(ElementType::f32, {2, 32}, seed + 5),
                               angles, sines, before, Argument(Index(48))});
      EXPECT_EQ(results.error, "");
    }
}

string writeDropout(ElementType type, Index width, const string &rate) {
  string rows =
      "tensor<?x?x" + std::to_string(width) + "x" + string(nameOf(type)) + ">";
  return "func.func @f(%x: " + rows + ", %seed: i64, %call: i32) -> " + rows +
         " {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "%b = tensor.dim %x, %c0 : " +
         rows + "\n%s = tensor.dim %x, %c1 : " + rows +
         "\n%empty = tensor.empty(%b, %s) : " + rows +
         "\n%0 = attn.dropout ins(%x : " + rows + ") outs(%empty : " + rows +
         ") rate(" + rate + ", %seed, %call)\nreturn %0 : " + rows + "\n}\n";
}

TEST(Dropout, d2_rate_of_zero_changes_nothing) {
  TestTensor x = normal(ElementType::bf16, {2, 3, 5});
  Results results = runEverywhere(writeDropout(ElementType::bf16, 5, "0.0"),
                                  {x, Index(7), Index(0)});
  EXPECT_EQ(results.tensors[0].elements(), x.elements());
}

TEST(Dropout, d3_drops_its_share_whatever_it_was) {
  TestTensor x(ElementType::f32, {1, 64, 64});
  x.fill([&] { return quietNaN; });
  std::vector<double> elements =
      runEverywhere(writeDropout(ElementType::f32, 64, "0.25"),
                    {x, Index(-3), Index(1)})
          .tensors[0]
          .elements();
  std::ptrdiff_t dropped = std::count(elements.begin(), elements.end(), 0.0);
  EXPECT_NEAR(double(dropped) / 4096, 0.25, 0.03);
}

TEST(Dropout, random) {
  forSeeds(7700, numCases(16), [&](Random &random) {
    ElementType type =
        random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                  ElementType::f16, ElementType::bf16});
    Index width = random.between(1, 70);
    TestTensor x(type, {random.between(0, 3), random.between(0, 5), width},
                 Layout{.rowPadding = random.between(0, 2)});
    x.fill([&] { return random.normal(); });
    Results results = runEverywhere(
        writeDropout(type, width, random.pick<string>({"0.5", "0.1", "0.999"})),
        {x, Index(random.bits()), Index(random.between(-3, 3))});
    EXPECT_EQ(results.error, "");
  });
}

} // namespace

//===- LayerOpsTest.cpp - attn.rope and attn.merge, executed --------------===//
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

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// `position` is a clause, and `parameters` what it refers to.
string writeRope(const string &pairing, Index heads, Index size, Index pairs,
                 ElementType type, ElementType tableType,
                 const string &position, const string &parameters) {
  string rows = "tensor<?x" + std::to_string(heads) + "x?x" +
                std::to_string(size) + "x" + string(nameOf(type)) + ">";
  string table = "tensor<?x" + std::to_string(pairs) + "x" +
                 string(nameOf(tableType)) + ">";
  return "func.func @f(%x: " + rows + ", %cosine: " + table +
         ", %sine: " + table + parameters + ") -> " + rows +
         " {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n"
         "%b = tensor.dim %x, %c0 : " +
         rows + "\n%s = tensor.dim %x, %c2 : " + rows +
         "\n%empty = tensor.empty(%b, %s) : " + rows + "\n%0 = attn.rope " +
         pairing + " ins(%x, %cosine, %sine : " + rows + ", " + table + ", " +
         table + ") outs(%empty : " + rows + ") " + position +
         "\nreturn %0 : " + rows + "\n}\n";
}

TEST(Rope, r3_pairings) {
  // A quarter turn of pair 0, none of pair 1.
  TestTensor x(ElementType::f32, {1, 1, 1, 5}, {1, 2, 3, 4, 5}),
      cosine(ElementType::f32, {1, 2}, {0, 1}),
      sine(ElementType::f32, {1, 2}, {1, 0});
  auto run = [&](const char *pairing) {
    return runEverywhere(writeRope(pairing, 1, 5, 2, ElementType::f32,
                                   ElementType::f32, "", ""),
                         {x, cosine, sine})
        .tensors[0]
        .elements();
  };
  EXPECT_EQ(run("half_split"), (std::vector<double>{-3, 2, 1, 4, 5}));
  EXPECT_EQ(run("interleaved"), (std::vector<double>{-2, 1, 3, 4, 5}));
}

TEST(Rope, r4_positions_outside_of_the_tables) {
  TestTensor x = normal(ElementType::f32, {2, 1, 3, 2}),
             table = normal(ElementType::f32, {5, 1});
  auto run = [&](const string &clause, const string &type,
                 const TestArgument &position) {
    Results results = runEverywhere(
        writeRope("half_split", 1, 2, 1, ElementType::f32, ElementType::f32,
                  clause + "(%p : " + type + ")", ", %p: " + type),
        {x, table, table, position});
    return results.error.find("position") != string::npos ? "error" : "";
  };
  EXPECT_STREQ(run("offset", "i64", 2), "");
  EXPECT_STREQ(run("offset", "i64", 3), "error");
  EXPECT_STREQ(run("offset", "i64", -1), "error");
  EXPECT_STREQ(run("offset", "i64", std::numeric_limits<Index>::max()),
               "error");
  EXPECT_STREQ(run("offset", "tensor<?xi32>", i32({2, 0})), "");
  EXPECT_STREQ(run("offset", "tensor<?xi32>", i32({2, 3})), "error");
  EXPECT_STREQ(run("offset", "tensor<?xi32>", i32({-1, 2})), "error");
  auto positions = [](const std::vector<double> &elements) {
    return TestTensor(ElementType::i32, {2, 3}, elements);
  };
  EXPECT_STREQ(
      run("positions", "tensor<?x?xi32>", positions({4, 0, 1, 1, 2, 0})), "");
  EXPECT_STREQ(
      run("positions", "tensor<?x?xi32>", positions({4, 0, 1, 5, 2, 0})),
      "error");
  EXPECT_STREQ(
      run("positions", "tensor<?x?xi32>", positions({4, 0, 1, 1, 2, -1})),
      "error");
}

TEST(Rope, random) {
  forSeeds(7300, numCases(40), [&](Random &random) {
    ElementType type =
        random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                  ElementType::f16, ElementType::bf16});
    ElementType tableType = type == ElementType::f64 && random.chance(0.5)
                                ? ElementType::f64
                                : ElementType::f32;
    Index batch = random.between(0, 3), heads = random.between(1, 3),
          length = random.between(0, 7), pairs = random.between(1, 17),
          size = 2 * pairs + random.between(0, 3), limit = 12;
    Layout layout;
    if (random.chance(0.5))
      layout.order = {0, 2, 1, 3};
    layout.rowPadding = random.between(0, 2);
    TestTensor x(type, {batch, heads, length, size}, layout),
        cosine(tableType, {limit, pairs}), sine(tableType, {limit, pairs});
    x.fill([&] { return random.normal(); });
    auto angle = [](const Shape &i) {
      return double(i[0]) * std::pow(10000.0, -double(i[1]) / 8);
    };
    cosine.fill([&](const Shape &i) { return std::cos(angle(i)); });
    sine.fill([&](const Shape &i) { return std::sin(angle(i)); });
    string pairing = random.pick<string>({"half_split", "interleaved"});
    std::vector<TestArgument> arguments = {x.view(), cosine.view(),
                                           sine.view()};
    TestTensor offsets(ElementType::i32, {batch}),
        positions(ElementType::i64, {batch, length});
    offsets.fill([&] { return double(random.between(0, limit - length)); });
    positions.fill([&] { return double(random.between(0, limit - 1)); });
    string clause, parameters;
    switch (random.between(0, 3)) {
    case 0:
      break;
    case 1:
      clause = "offset(%p : index)";
      parameters = ", %p: index";
      arguments.push_back(random.between(0, limit - length));
      break;
    case 2:
      clause = "offset(%p : tensor<?xi32>)";
      parameters = ", %p: tensor<?xi32>";
      arguments.push_back(offsets.view());
      break;
    case 3:
      clause = "positions(%p : tensor<?x?xi64>)";
      parameters = ", %p: tensor<?x?xi64>";
      arguments.push_back(positions.view());
      break;
    }
    Results results = runEverywhere(writeRope(pairing, heads, size, pairs, type,
                                              tableType, clause, parameters),
                                    arguments);
    EXPECT_EQ(results.error, "");
  });
}

/// Without `hasLSE` the result is the output alone.
string writeMerge(ElementType type, Index heads, Index size, bool hasLSE) {
  string output = "tensor<?x" + std::to_string(heads) + "x?x" +
                  std::to_string(size) + "x" + string(nameOf(type)) + ">";
  string lse = "tensor<?x" + std::to_string(heads) + "x?x" +
               (type == ElementType::f64 ? "f64>" : "f32>");
  string results = hasLSE ? output + ", " + lse : output;
  return "func.func @f(%o1: " + output + ", %l1: " + lse + ", %o2: " + output +
         ", %l2: " + lse + ") -> (" + results +
         ") {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n"
         "%b = tensor.dim %o1, %c0 : " +
         output + "\n%s = tensor.dim %o1, %c2 : " + output +
         "\n%o = tensor.empty(%b, %s) : " + output +
         "\n%l = tensor.empty(%b, %s) : " + lse + (hasLSE ? "\n%0:2" : "\n%0") +
         " = attn.merge ins(%o1, %l1, %o2, %l2 : " + output + ", " + lse +
         ", " + output + ", " + lse + ") outs(" +
         (hasLSE ? "%o, %l : " : "%o : ") + results + ")\nreturn " +
         (hasLSE ? "%0#0, %0#1 : " : "%0 : ") + results + "\n}\n";
}

TEST(Merge, m2_parts_without_keys) {
  for (ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16,
                           ElementType::bf16}) {
    ElementType sums = type == ElementType::f64 ? type : ElementType::f32;
    double nan = quietNaN;
    TestTensor o1(type, {1, 1, 5, 1}, {nan, 2, nan, 4, 5}),
        l1(sums, {1, 1, 5}, {-inf, 0.5, -inf, 0, nan}),
        o2(type, {1, 1, 5, 1}, {3, nan, nan, nan, 1}),
        l2(sums, {1, 1, 5}, {0.25, -inf, -inf, 0, 0});
    Results results =
        runEverywhere(writeMerge(type, 1, 1, true), {o1, l1, o2, l2});
    expectNear(results.tensors[0].elements(), {3, 2, 0, nan, nan}, 0);
    expectNear(results.tensors[1].elements(),
               {0.25, 0.5, -inf, std::log(2), nan}, 1e-6);
  }
}

TEST(Merge, m2_infinite_parts) {
  for (ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16,
                           ElementType::bf16}) {
    ElementType sums = type == ElementType::f64 ? type : ElementType::f32;
    double nan = quietNaN;
    TestTensor o1(type, {1, 1, 6, 1}, {1, 2, 3, nan, 5, 6}),
        l1(sums, {1, 1, 6}, {inf, 0, inf, inf, inf, inf}),
        o2(type, {1, 1, 6, 1}, {3, 4, 5, 1, 7, 8}),
        l2(sums, {1, 1, 6}, {0, inf, inf, 2, nan, -inf});
    std::vector<std::string> pipelines = everyPipeline;
    if (type == ElementType::f64) // Which GPUs have none of.
      std::erase(pipelines, "gpu-emulator");
    Results results = runEverywhere(writeMerge(type, 1, 1, true),
                                    {o1, l1, o2, l2}, false, pipelines);
    ASSERT_EQ(results.error, "");
    expectNear(results.tensors[0].elements(), {1, 4, 4, nan, nan, 6}, 0);
    expectNear(results.tensors[1].elements(), {inf, inf, inf, inf, nan, inf},
               0);
  }
}

TEST(Merge, is_one_attention) {
  // Two halves of the keys, merged, against all of them at once.
  std::uint64_t seed = 7400;
  for (ElementType type : {ElementType::f64, ElementType::f32}) {
    KernelText text{.type = type,
                    .queryHeads = 2,
                    .keySize = 8,
                    .valueSize = 8,
                    .clauses = "scale(0.3)"};
    TestTensor query = normal(type, {2, 2, 5, 8}, seed),
               key = normal(type, {2, 1, 30, 8}, seed + 1),
               value = normal(type, {2, 1, 30, 8}, seed + 2);
    auto part = [](const TestTensor &tensor, Index begin, Index end) {
      TestTensor result(tensor.type(), {2, 1, end - begin, 8});
      result.fill([&](const Shape &i) {
        return *tensor.get({i[0], i[1], begin + i[2], i[3]});
      });
      return result;
    };
    Outcome whole = run(text, {query.view(), key.view(), value.view()});
    for (Index split : {0, 7, 30}) {
      std::vector<TestTensor> parts;
      for (auto [begin, end] :
           {std::pair<Index, Index>(0, split), {split, 30}}) {
        Outcome outcome = run(text, {query.view(), part(key, begin, end).view(),
                                     part(value, begin, end).view()});
        parts.emplace_back(type, Shape{2, 2, 5, 8}, outcome.output);
        parts.emplace_back(type, Shape{2, 2, 5}, outcome.logSumExp);
      }
      Results results = runEverywhere(writeMerge(type, 2, 8, true),
                                      {parts[0], parts[1], parts[2], parts[3]});
      expectNear(results.tensors[0].elements(), whole.output,
                 type == ElementType::f64 ? 1e-12 : 4e-6);
      expectNear(results.tensors[1].elements(), whole.logSumExp,
                 type == ElementType::f64 ? 1e-12 : 1e-5);
    }
  }
}

TEST(Merge, random) {
  forSeeds(7500, numCases(24), [&](Random &random) {
    ElementType type =
        random.pick<ElementType>({ElementType::f64, ElementType::f32,
                                  ElementType::f16, ElementType::bf16});
    ElementType sums = type == ElementType::f64 ? type : ElementType::f32;
    Index batch = random.between(0, 3), heads = random.between(1, 3),
          length = random.between(0, 7), size = random.between(1, 18);
    std::vector<TestTensor> parts;
    for (int part = 0; part < 2; ++part) {
      parts.emplace_back(type, Shape{batch, heads, length, size},
                         Layout{.rowPadding = random.between(0, 2)});
      parts.back().fill([&] { return random.normal(); });
      parts.emplace_back(sums, Shape{batch, heads, length});
      parts.back().fill(
          [&] { return random.chance(0.2) ? -inf : 5 * random.normal(); });
    }
    Results results =
        runEverywhere(writeMerge(type, heads, size, random.chance(0.7)),
                      {parts[0], parts[1], parts[2], parts[3]});
    EXPECT_EQ(results.error, "");
  });
}

} // namespace

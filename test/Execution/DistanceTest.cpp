//===- DistanceTest.cpp - Regions that read distances, and quotients ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel computes once for each distance of query and key, or multiplies
// by a reciprocal, held to the interpreter.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

using namespace attn;
using namespace attn::test;

namespace {

constexpr ElementType fastTypes[] = {ElementType::f32, ElementType::f16,
                                     ElementType::bf16};

/// Lengths of queries and keys: less, as many and more than a block and a tile.
const std::vector<std::pair<Index, Index>> lengths = {
    {2, 1}, {40, 150}, {33, 64}, {64, 65}, {97, 100}, {130, 3}, {0, 5}, {5, 0}};

void expectAgreement(KernelText text, Index numQueries, Index numKeys,
                     const TestTensor &operand) {
  text.keySize = text.valueSize = 16;
  TestTensor query = normal(text.type, {1, 1, numQueries, 16}),
             key = normal(text.type, {1, 1, numKeys, 16}, 2),
             value = normal(text.type, {1, 1, numKeys, 16}, 3);
  Outcome outcome =
      run(text, {query.view(), key.view(), value.view(), operand.view()});
  EXPECT_EQ(outcome.error, "")
      << numQueries << " queries, " << numKeys << " keys";
}

/// The table has an element for each distance that there is, and ends where
/// memory does.
TEST(Distance, attention_a9_loads_only_of_distances_of_the_tile) {
  for (ElementType type : fastTypes)
    for (auto [numQueries, numKeys] : lengths) {
      KernelText text{.type = type,
                      .clauses =
                          R"(score(%s, %b, %h, %p, %j)
                   captures(%t = %table : tensor<?xf32>, %n = %last : index) {
                   %distance = arith.subi %p, %j : index
                   %at = arith.addi %distance, %n : index
                   %apart = math.absi %distance : index
                   %near = arith.minsi %apart, %n : index
                   %x = tensor.extract %t[%at] : tensor<?xf32>
                   %y = tensor.extract %t[%near] : tensor<?xf32>
                   %xy = arith.mulf %x, %y : f32
                   %r = arith.addf %s, %xy : f32
                   attn.yield %r : f32
                 })",
                      .parameters = ", %table: tensor<?xf32>",
                      .prologue = R"(%c1 = arith.constant 1 : index
                         %keys = tensor.dim %key, %c2 : tensor<?x1x?x16x)" +
                                  std::string(nameOf(type)) + R"(>
                         %last = arith.subi %keys, %c1 : index
                        )"};
      Index distances = std::max<Index>(0, numQueries + numKeys - 1);
      expectAgreement(text, numQueries, numKeys,
                      normal(ElementType::f32, {distances}, 4));
    }
}

/// Besides a key and a table of keys.
TEST(Distance, attention_a8_masks_of_distances) {
  for (ElementType type : fastTypes)
    for (auto [numQueries, numKeys] : lengths) {
      KernelText text{
          .type = type,
          .clauses =
              R"(mask(%b, %h, %p, %j) captures(%t = %table : tensor<?xf32>) {
                   %c0 = arith.constant 0 : index
                   %c3 = arith.constant 3 : index
                   %c50 = arith.constant 50 : index
                   %zero = arith.constant 0.0 : f32
                   %distance = arith.subi %j, %p : index
                   %rest = arith.remsi %distance, %c3 : index
                   %hit = arith.cmpi eq, %rest, %c0 : index
                   %near = arith.cmpi slt, %distance, %c50 : index
                   %both = arith.andi %hit, %near : i1
                   %x = tensor.extract %t[%j] : tensor<?xf32>
                   %open = arith.cmpf ogt, %x, %zero : f32
                   %keep = arith.ori %both, %open : i1
                   attn.yield %keep : i1
                 })",
          .parameters = ", %table: tensor<?xf32>"};
      expectAgreement(text, numQueries, numKeys,
                      normal(ElementType::f32, {numKeys}, 4));
    }
}

/// By numbers whose reciprocals are subnormal or infinite too.
TEST(Distance, attention_a9_quotients_of_scores) {
  KernelText text{.type = ElementType::f32,
                  .clauses = R"(scale(1.0)
                      score(%s, %b, %h, %p, %j) captures(%t = %by : tensor<1xf32>) {
                        %c0 = arith.constant 0 : index
                        %y = tensor.extract %t[%c0] : tensor<1xf32>
                        %r = arith.divf %s, %y : f32
                        attn.yield %r : f32
                      })",
                  .parameters = ", %by: tensor<1xf32>"};
  constexpr Index numQueries = 40, numKeys = 70;
  for (double divisor : {3.0, -0.7, 1e-39, 1e-30, 1e-20, 1e20, -1e37, 3e38}) {
    TestTensor query(ElementType::f32, {1, 1, numQueries, 1}),
        key = normal(ElementType::f32, {1, 1, numKeys, 1}, 2),
        value = normal(ElementType::f32, {1, 1, numKeys, 1}, 3),
        by(ElementType::f32, {1}, {divisor});
    // A score of at most 4 * 0.9 * divisor is a float.
    query.fill([&](const Shape &at) {
      return divisor * (at[2] % 2 ? 0.2 : 0.01 * double(at[2] % 7));
    });
    Outcome outcome =
        run(text, {query.view(), key.view(), value.view(), by.view()});
    EXPECT_EQ(outcome.error, "") << "divided by " << divisor;
  }
}

} // namespace

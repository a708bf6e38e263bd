//===- RandomExpressionsTest.cpp - Random masks and scores in C++ ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every expression is made twice: of symbolic values, and as a C++ function.
// Kernels of the first are held to the oracle with the second.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/engine.h"
#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Compare.h"
#include "test/Execution/Random.h"
#include "test/Execution/Seeds.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

using attn::Attention, attn::Bool, attn::ElementType, attn::Index, attn::Real;
using attn::test::Random, attn::test::TestTensor;

namespace {

using Integer = std::int64_t;

struct Position {
  Integer b, h, q, k;
};

template <typename Symbolic, typename Plain> struct Pair {
  Symbolic symbolic;
  std::function<Plain(const Position &)> plain;
};
using IntegerPair = Pair<Index, Integer>;
using BoolPair = Pair<Bool, bool>;

constexpr Integer batches = 2, heads = 3, headSize = 8, numFlags = 17;

/// Integer arithmetic that wraps around.
Integer wrap(std::uint64_t value) { return Integer(value); }
std::uint64_t bits(Integer value) { return std::uint64_t(value); }

Integer floorDivide(Integer a, Integer b) {
  Integer quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Makes expressions of the positions, an i32 table without zeros of shape
/// (Hq), an i64 scalar and i1 flags.
class Generator {
public:
  Generator(Random &random, const Index &b, const Index &h, const Index &q,
            const Index &k)
      : random(random), positions{b, h, q, k} {
    for (Integer i = 0; i < heads; ++i)
      table.push_back(random.pick<Integer>({-9, -4, -1, 1, 2, 3, 8, 31}));
    for (Integer i = 0; i < numFlags; ++i)
      flags.push_back(random.chance(0.5));
    scalar = random.between(-50, 50);
  }

  IntegerPair integer(int depth) {
    if (depth == 0)
      return leaf();
    switch (random.between(0, 9)) {
    case 0:
      return binary(
          depth, [](auto a, auto b) { return a + b; },
          [](Integer a, Integer b) { return wrap(bits(a) + bits(b)); });
    case 1:
    case 2:
      return binary(
          depth, [](auto a, auto b) { return a - b; },
          [](Integer a, Integer b) { return wrap(bits(a) - bits(b)); });
    case 3:
      return binary(
          depth, [](auto a, auto b) { return a * b; },
          [](Integer a, Integer b) { return wrap(bits(a) * bits(b)); });
    case 4:
      return binary(
          depth, [](auto a, auto b) { return min(a, b); },
          [](Integer a, Integer b) { return std::min(a, b); });
    case 5:
      return binary(
          depth, [](auto a, auto b) { return max(a, b); },
          [](Integer a, Integer b) { return std::max(a, b); });
    case 6: {
      IntegerPair a = integer(depth - 1), b = divisor();
      return {a.symbolic / b.symbolic, [a, b](const Position &at) {
                return floorDivide(a.plain(at), b.plain(at));
              }};
    }
    case 7: {
      IntegerPair a = integer(depth - 1), b = divisor();
      return {a.symbolic % b.symbolic, [a, b](const Position &at) {
                Integer x = a.plain(at), y = b.plain(at);
                return wrap(bits(x) - bits(y) * bits(floorDivide(x, y)));
              }};
    }
    case 8: {
      IntegerPair a = integer(depth - 1);
      if (random.chance(0.5))
        return {abs(a.symbolic), [a](const Position &at) {
                  Integer x = a.plain(at);
                  return x < 0 ? wrap(-bits(x)) : x;
                }};
      return {-a.symbolic,
              [a](const Position &at) { return wrap(-bits(a.plain(at))); }};
    }
    default: {
      BoolPair condition = boolean(depth - 1);
      IntegerPair a = integer(depth - 1), b = integer(depth - 1);
      return {select(condition.symbolic, a.symbolic, b.symbolic),
              [condition, a, b](const Position &at) {
                return condition.plain(at) ? a.plain(at) : b.plain(at);
              }};
    }
    }
  }

  BoolPair boolean(int depth) {
    if (depth > 0 && random.chance(0.5))
      return logic(depth);
    IntegerPair a = integer(std::max(0, depth - 1)),
                b = integer(std::max(0, depth - 1));
    switch (random.between(0, 6)) {
    case 0:
      return compare(a, b, std::less<>());
    case 1:
      return compare(a, b, std::less_equal<>());
    case 2:
      return compare(a, b, std::greater<>());
    case 3:
      return compare(a, b, std::greater_equal<>());
    case 4:
      return compare(a, b, std::equal_to<>());
    case 5:
      return compare(a, b, std::not_equal_to<>());
    default:
      return {
          flagsTensor(a.symbolic % numFlags), [this, a](const Position &at) {
            Integer x = a.plain(at);
            return flags[std::size_t(wrap(
                bits(x) - bits(numFlags) * bits(floorDivide(x, numFlags))))];
          }};
    }
  }

  /// The value of an argument.
  std::optional<attn::Argument> getArgument(const std::string &name) {
    if (name == "table")
      return tableValues
          .emplace(ElementType::i32, attn::test::Shape{heads},
                   std::vector<double>(table.begin(), table.end()))
          .view();
    if (name == "flags")
      return flagValues
          .emplace(ElementType::i1, attn::test::Shape{numFlags},
                   std::vector<double>(flags.begin(), flags.end()))
          .view();
    if (name == "scalar")
      return attn::Argument(scalar);
    return std::nullopt;
  }

private:
  template <typename Symbolic, typename Plain>
  IntegerPair binary(int depth, Symbolic symbolic, Plain plain) {
    IntegerPair a = integer(depth - 1), b = integer(depth - 1);
    return {symbolic(a.symbolic, b.symbolic),
            [a, b, plain](const Position &at) {
              return plain(a.plain(at), b.plain(at));
            }};
  }

  template <typename Comparison>
  BoolPair compare(const IntegerPair &a, const IntegerPair &b,
                   Comparison comparison) {
    return {comparison(a.symbolic, b.symbolic),
            [a, b, comparison](const Position &at) {
              return comparison(a.plain(at), b.plain(at));
            }};
  }

  BoolPair logic(int depth) {
    BoolPair a = boolean(depth - 1), b = boolean(depth - 1);
    switch (random.between(0, 2)) {
    case 0:
      return {a.symbolic && b.symbolic, [a, b](const Position &at) {
                return a.plain(at) && b.plain(at);
              }};
    case 1:
      return {a.symbolic || b.symbolic, [a, b](const Position &at) {
                return a.plain(at) || b.plain(at);
              }};
    default:
      return {!a.symbolic, [a](const Position &at) { return !a.plain(at); }};
    }
  }

  IntegerPair leaf() {
    switch (random.between(0, 7)) {
    case 0:
      return {positions[0], [](const Position &at) { return at.b; }};
    case 1:
      return {positions[1], [](const Position &at) { return at.h; }};
    case 2:
    case 3:
      return {positions[2], [](const Position &at) { return at.q; }};
    case 4:
    case 5:
      return {positions[3], [](const Position &at) { return at.k; }};
    case 6: {
      Integer number = random.between(-60, 60);
      return {number, [number](const Position &) { return number; }};
    }
    default:
      if (random.chance(0.5))
        return tableElement();
      return {scalarArgument, [this](const Position &) { return scalar; }};
    }
  }

  IntegerPair tableElement() {
    return {tableTensor(positions[1]),
            [this](const Position &at) { return table[std::size_t(at.h)]; }};
  }

  IntegerPair divisor() {
    if (random.chance(0.2))
      return tableElement();
    Integer number =
        random.pick<Integer>({1, 2, 3, 4, 7, 16, 20, 64, -1, -3, -8});
    return {number, [number](const Position &) { return number; }};
  }

  Random &random;
  const std::vector<Index> positions; ///< b, h, q, k.
  const attn::Tensor<std::int32_t, 1> tableTensor{"table"};
  const attn::Tensor<bool, 1> flagsTensor{"flags"};
  const attn::Scalar<Integer> scalarArgument{"scalar"};
  std::vector<Integer> table;
  std::vector<bool> flags;
  Integer scalar = 0;
  std::optional<TestTensor> tableValues, flagValues;
};

void checkRandomVariant(Random &random) {
  std::optional<Generator> generator;
  std::optional<BoolPair> mask;
  std::optional<IntegerPair> distance;
  int depth = int(random.between(1, 4));
  ElementType type = random.pick<ElementType>(
      {ElementType::f32, ElementType::f32, ElementType::f64});
  Integer offset = random.pick<Integer>({0, 0, 7, -70, 1000});

  Attention attention{.type = type,
                      .queryHeads = heads,
                      .headSize = headSize,
                      .offset = offset,
                      .mask =
                          attn::mask([&](Index b, Index h, Index q, Index k) {
                            generator.emplace(random, b, h, q, k);
                            distance = generator->integer(depth);
                            mask = generator->boolean(depth);
                            return mask->symbolic;
                          })};
  attention.score = attn::score([&](Real s, Index, Index, Index, Index) {
    return s + tanh(Real(distance->symbolic % 64) / 16);
  });

  static const attn::Expected<attn::Engine> engine = attn::Engine::create();
  ASSERT_TRUE(engine.ok());
  attn::Expected<attn::Kernel> kernel = engine->compile(attention);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n"
                           << *attention.text();

  Integer queryLength = random.between(1, 150),
          keyLength = random.between(1, 200);
  TestTensor query(type, {batches, heads, queryLength, headSize}),
      key(type, {batches, heads, keyLength, headSize}),
      value(type, {batches, heads, keyLength, headSize}),
      output(type, {batches, heads, queryLength, headSize});
  for (TestTensor *tensor : {&query, &key, &value})
    tensor->fill([&] { return random.normal(); });
  std::vector<attn::Argument> arguments = {query.view(), key.view(),
                                           value.view()};
  for (const attn::Parameter &parameter :
       std::span(kernel->signature().arguments).subspan(3))
    arguments.push_back(*generator->getArgument(parameter.name));
  attn::TensorView result = output.mutableView();
  attn::Status status = kernel->run(arguments, std::span(&result, 1));
  ASSERT_TRUE(status.ok()) << status.error().message << "\n"
                           << *attention.text();

  attn::reference::AttentionProblem problem;
  problem.query = query;
  problem.key = key;
  problem.value = value;
  problem.offsets = {offset};
  problem.mask = [&](Integer b, Integer h, Integer q, Integer k) {
    return mask->plain({b, h, q, k});
  };
  problem.score = [&](double s, Integer b, Integer h, Integer q, Integer k) {
    Integer x = distance->plain({b, h, q, k});
    return s + std::tanh(double(x - 64 * floorDivide(x, 64)) / 16);
  };
  auto expected = attn::reference::attention(problem);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  auto comparison = attn::reference::compare(
      output.elements(), expected->output,
      attn::reference::toleranceFor(type, attn::reference::Quantity::output));
  ASSERT_TRUE(comparison.ok());
  EXPECT_TRUE(comparison->passed)
      << "at " << comparison->index << ": " << comparison->actual
      << ", expected " << comparison->expected << "\n"
      << *attention.text();
}

TEST(RandomExpressions, AgreeWithPlainFunctions) {
  attn::test::forSeeds(1, attn::test::numCases(40), checkRandomVariant);
}

} // namespace

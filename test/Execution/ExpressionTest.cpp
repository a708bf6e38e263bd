//===- ExpressionTest.cpp - What symbolic expressions compute -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row that sees one key has its score for log-sum-exp. So kernels on one key,
// of which the score is an expression, give the values of the expression.
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/engine.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

using attn::Attention, attn::Bool, attn::Index, attn::Real;
using attn::ElementType;
using attn::test::TestTensor;

namespace {

using Integer = std::int64_t;

const attn::Engine &getEngine() {
  static const attn::Expected<attn::Engine> engine = attn::Engine::create();
  EXPECT_TRUE(engine.ok());
  return *engine;
}

/// Of every operation: positions on both sides of 0, and an element of a table.
constexpr Integer firstPosition = -21, numPositions = 43;
const std::vector<double> table = {-8, -7, -4, -1, 1, 2, 3, 4, 5, 16};

/// Holds the value of `symbolic` to that of `plain` everywhere.
void expectReal(
    ElementType type,
    const std::function<Real(const Index &x, const Index &y)> &symbolic,
    const std::function<double(Integer x, Integer y)> &plain) {
  attn::Tensor<std::int32_t, 1> numbers("numbers");
  attn::Scalar<std::int64_t> offset("offset");
  Integer heads = Integer(table.size());
  Attention attention{
      .type = type,
      .queryHeads = heads,
      .headSize = 1,
      .offset = offset,
      .score = attn::score([&](Real s, Index b, Index h, Index q, Index k) {
        // All arguments are there, whether the expression reads them or not.
        return symbolic(q, numbers(h)) + 0 * (s + numbers(h));
      }),
      .logSumExp = true};
  attn::Expected<attn::Kernel> kernel = getEngine().compile(attention);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n"
                           << *attention.text();

  TestTensor query(type, {1, heads, numPositions, 1}),
      key(type, {1, heads, 1, 1}), output(type, {1, heads, numPositions, 1}),
      logSumExp(type == ElementType::f64 ? type : ElementType::f32,
                {1, heads, numPositions}),
      numbersTensor(ElementType::i32, {heads}, table);
  query.fill([] { return 1; });
  key.fill([] { return 1; });
  attn::Status status =
      kernel->run({query.view(), key.view(), key.view(), firstPosition,
                   numbersTensor.view()},
                  {output.mutableView(), logSumExp.mutableView()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  double tolerance = type == ElementType::f64 ? 1e-12 : 2e-6;
  for (Integer h = 0; h < heads; ++h)
    for (Integer i = 0; i < numPositions; ++i) {
      Integer x = firstPosition + i, y = Integer(table[std::size_t(h)]);
      double expected = plain(x, y), actual = *logSumExp.get({0, h, i});
      EXPECT_TRUE(actual == expected ||
                  std::abs(actual - expected) <=
                      tolerance * std::max(1.0, std::abs(expected)))
          << "x = " << x << ", y = " << y << ": " << actual << ", expected "
          << expected << "\n"
          << *attention.text();
    }
}

void expectIndex(
    const std::function<Index(const Index &x, const Index &y)> &symbolic,
    const std::function<Integer(Integer x, Integer y)> &plain) {
  expectReal(
      ElementType::f64,
      [&](const Index &x, const Index &y) { return Real(symbolic(x, y)); },
      [&](Integer x, Integer y) { return double(plain(x, y)); });
}

void expectBool(
    const std::function<Bool(const Index &x, const Index &y)> &symbolic,
    const std::function<bool(Integer x, Integer y)> &plain) {
  expectIndex(
      [&](const Index &x, const Index &y) {
        return select(symbolic(x, y), Index(1), Index(0));
      },
      [&](Integer x, Integer y) { return plain(x, y); });
}

Integer floorDivide(Integer x, Integer y) {
  return Integer(std::floor(double(x) / double(y)));
}

TEST(Expression, IndexArithmetic) {
  expectIndex([](Index x, Index y) { return -x + 3 * y - (7 - x * y); },
              [](Integer x, Integer y) { return -x + 3 * y - (7 - x * y); });
  expectIndex([](Index x, Index y) { return abs(x) + min(x, y) * max(x, 2); },
              [](Integer x, Integer y) {
                return std::abs(x) + std::min(x, y) * std::max<Integer>(x, 2);
              });
  expectIndex([](Index x, Index y) { return select(x < y, x, 5); },
              [](Integer x, Integer y) { return x < y ? x : 5; });
}

TEST(Expression, DivisionRoundsDown) {
  expectIndex([](Index x, Index y) { return x / y; }, floorDivide);
  expectIndex([](Index x, Index y) { return x % y; },
              [](Integer x, Integer y) { return x - y * floorDivide(x, y); });
}

TEST(Expression, DivisionByNumbersRoundsDown) {
  for (Integer y : {1, 2, 3, 4, 7, 16, 64, -1, -2, -3, -4, -7}) {
    expectIndex([y](Index x, Index) { return x / y; },
                [y](Integer x, Integer) { return floorDivide(x, y); });
    expectIndex([y](Index x, Index) { return x % y; },
                [y](Integer x, Integer) { return x - y * floorDivide(x, y); });
  }
}

TEST(Expression, Comparisons) {
  expectBool([](Index x, Index y) { return x == y || (x < 0 && x != -3); },
             [](Integer x, Integer y) { return x == y || (x < 0 && x != -3); });
  expectBool([](Index x, Index y) { return x <= y && !(x >= 2) && true; },
             [](Integer x, Integer y) { return x <= y && !(x >= 2); });
  expectBool([](Index x, Index y) { return x > y || false; },
             [](Integer x, Integer y) { return x > y; });
  expectBool(
      [](Index x, Index y) {
        Real a = x / 2.0, b = y;
        return (a < b && a != 1.0) || a == -2.5 || a >= 8 || (a <= -8) ||
               (a > 6.25);
      },
      [](Integer x, Integer y) {
        double a = double(x) / 2, b = double(y);
        return (a < b && a != 1.0) || a == -2.5 || a >= 8 || (a <= -8) ||
               (a > 6.25);
      });
  // Comparisons with NaN.
  expectBool(
      [](Index x, Index y) {
        Real nan = sqrt(Real(-1 - abs(x))), same = sqrt(Real(-1 - abs(y)));
        return nan == same || nan < y || nan <= y || nan > y || nan >= y ||
               !(nan != same);
      },
      [](Integer, Integer) { return false; });
}

TEST(Expression, RealArithmetic) {
  for (ElementType type : {ElementType::f64, ElementType::f32}) {
    expectReal(
        type,
        [](Index x, Index y) { return -x / 10.0f + 2.5 * y - (x - 0.5) / y; },
        [](Integer x, Integer y) {
          return double(-x) / 10 + 2.5 * double(y) -
                 (double(x) - 0.5) / double(y);
        });
    expectReal(
        type,
        [](Index x, Index y) {
          return exp(x / 20.0) + log(abs(y / 3.0)) * tanh(x / 7.0) +
                 sqrt(abs(Real(x)));
        },
        [](Integer x, Integer y) {
          double a = double(x), b = double(y);
          return std::exp(a / 20) +
                 std::log(std::abs(b / 3)) * std::tanh(a / 7) +
                 std::sqrt(std::abs(a));
        });
    expectReal(
        type,
        [](Index x, Index y) {
          return select(x == 0, min(x / 2.0, Real(y)), max(Real(x), y / 2.0));
        },
        [](Integer x, Integer y) {
          double a = double(x), b = double(y);
          return x == 0 ? std::min(a / 2, b) : std::max(a, b / 2);
        });
  }
}

TEST(Expression, Functions) {
  for (ElementType type : {ElementType::f64, ElementType::f32}) {
    expectReal(
        type,
        [](Index x, Index y) {
          return floor(x / 3.0) + 2 * ceil(x / 3.0) + round(x / 2.0) * 0.5 +
                 exp2(x / 8.0) + log2(abs(Real(y)));
        },
        [](Integer x, Integer y) {
          double a = double(x);
          return std::floor(a / 3) + 2 * std::ceil(a / 3) +
                 std::round(a / 2) * 0.5 + std::exp2(a / 8) +
                 std::log2(std::abs(double(y)));
        });
    expectReal(
        type,
        [](Index x, Index y) {
          return sin(x / 3.0) + cos(y / 3.0) * 0.5 + erf(x / 9.0) +
                 pow(abs(x / 9.0), Real(1.5));
        },
        [](Integer x, Integer y) {
          double a = double(x);
          return std::sin(a / 3) + std::cos(double(y) / 3) * 0.5 +
                 std::erf(a / 9) + std::pow(std::abs(a / 9), 1.5);
        });
  }
  expectIndex(
      [](Index x, Index y) { return toIndex(x / 4.0) - attn::toIndex(2.9); },
      [](Integer x, Integer y) { return x / 4 - 2; });
  expectIndex(
      [](Index x, Index y) {
        return (x & 6) + 3 * (x | y) - (x ^ 5) + (x << 3) - (y >> 1);
      },
      [](Integer x, Integer y) {
        return (x & 6) + 3 * (x | y) - (x ^ 5) + x * 8 - (y >> 1);
      });
}

constexpr double inf = std::numeric_limits<double>::infinity();

// A quotient in f32 would be too inexact for the exponential of 75.
TEST(Expression, ExponentialsOfQuotients) {
  for (ElementType type : {ElementType::f64, ElementType::f32}) {
    expectReal(
        type,
        [](Index x, Index y) {
          return exp(select(x == 0, Real(inf), Real(x * 25)) / -7.0);
        },
        [](Integer x, Integer y) {
          return x == 0 ? 0 : std::exp(double(x * 25) / -7);
        });
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    expectReal(
        type,
        [](Index x, Index y) {
          Real power = exp(select(x == y, Real(nan), x * 1000.0) / 0.75);
          return select(power > 1e38, Real(2), select(power < 1, 0, Real(1)));
        },
        [](Integer x, Integer y) {
          return x == y || x == 0 ? 1 : x > 0 ? 2 : 0;
        });
  }
}

TEST(Expression, InfiniteNumbers) {
  for (ElementType type : {ElementType::f64, ElementType::f32})
    expectReal(
        type,
        [](Index x, Index y) { return select(x < y, Real(x), Real(-inf)); },
        [](Integer x, Integer y) { return x < y ? double(x) : -inf; });
}

TEST(Expression, LargeIntegers) {
  constexpr Integer large = Integer(1) << 62;
  expectBool([](Index x, Index y) { return x + large > y + (large - 3); },
             [](Integer x, Integer y) { return x + 3 > y; });
}

} // namespace

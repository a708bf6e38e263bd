//===- ReferenceCompareTest.cpp - Comparing with the oracle --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Values.h"

#include "gtest/gtest.h"

#include <array>
#include <limits>
#include <vector>

using namespace attn;
using namespace attn::reference;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Tolerance relative{1e-3, true}, absolute{1e-3, false};

static Comparison compareOk(std::vector<double> actual,
                            std::vector<double> expected, Tolerance tolerance) {
  Expected<Comparison> result = compare(actual, expected, tolerance);
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(Compare, RelativeToTheLargestExpected) {
  Comparison result = compareOk({1.0, -4.01, 2}, {1.001, -4.0, 2}, relative);
  EXPECT_NEAR(result.error, 0.01 / 4, 1e-12);
  EXPECT_EQ(result.index, 1);
  EXPECT_EQ(result.actual, -4.01);
  EXPECT_EQ(result.expected, -4.0);
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(compareOk({1.001, 4}, {1, 4}, relative).passed);
}

TEST(Compare, Absolute) {
  EXPECT_TRUE(compareOk({0.0005}, {0}, absolute).passed);
  EXPECT_FALSE(compareOk({1000.01}, {1000}, absolute).passed);
}

TEST(Compare, EqualHasNoPlace) {
  Comparison result =
      compareOk({1, quietNaN, -inf}, {1, quietNaN, -inf}, relative);
  EXPECT_EQ(result.error, 0);
  EXPECT_EQ(result.index, -1);
  EXPECT_TRUE(result.passed);
  EXPECT_TRUE(compareOk({}, {}, relative).passed);
}

/// Sums of terms that cancel, and what is not known.
TEST(Compare, RelativeToScales) {
  std::vector<double> actual = {0.01, 2.002, 5}, expected = {0, 2, 2};
  Expected<Comparison> result =
      compare(actual, expected, relative, std::vector<double>{10, 1, -1});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->passed);
  EXPECT_NEAR(result->error, 1e-3, 1e-12);
  EXPECT_EQ(result->unknown, 1);
  result = compare(actual, expected, relative, std::vector<double>{9, 1, -1});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->passed);
  EXPECT_EQ(result->index, 0);
  EXPECT_FALSE(compare(actual, expected, relative, std::vector<double>{1}));
}

TEST(Compare, NaNAndInfMustMeetTheirEqual) {
  for (auto [a, b] : std::vector<std::pair<double, double>>{{quietNaN, 1},
                                                            {1, quietNaN},
                                                            {inf, 1},
                                                            {1, inf},
                                                            {inf, -inf},
                                                            {quietNaN, inf}})
    for (Tolerance tolerance : {relative, absolute}) {
      Comparison result = compareOk({7, a}, {7, b}, tolerance);
      EXPECT_EQ(result.error, inf) << a << " " << b;
      EXPECT_EQ(result.index, 1);
      EXPECT_FALSE(result.passed);
    }
}

TEST(Compare, AllExpectedZero) {
  EXPECT_EQ(compareOk({0, 0}, {0, -0.0}, relative).error, 0);
  EXPECT_EQ(compareOk({0, 1e-30}, {0, 0}, relative).error, inf);
}

TEST(Compare, SizesMustAgree) {
  Expected<Comparison> result =
      compare(std::vector<double>{1}, std::vector<double>{1, 2}, relative);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "expected 2 elements, got 1");
}

TEST(Compare, Tolerances) {
  EXPECT_EQ(toleranceFor(ElementType::bf16, Quantity::output).bound, 1.6e-2);
  EXPECT_TRUE(toleranceFor(ElementType::f32, Quantity::output).relative);
  EXPECT_EQ(toleranceFor(ElementType::f32, Quantity::multiTokenOutput).bound,
            5e-6);
  EXPECT_EQ(toleranceFor(ElementType::f16, Quantity::multiTokenOutput).bound,
            toleranceFor(ElementType::f16, Quantity::output).bound);
  EXPECT_EQ(toleranceFor(ElementType::f16, Quantity::logSumExp).bound, 1e-5);
  EXPECT_FALSE(toleranceFor(ElementType::f32, Quantity::logSumExp).relative);
  EXPECT_EQ(toleranceFor(ElementType::f64, Quantity::logSumExp).bound, 1e-12);
  EXPECT_EQ(toleranceFor(ElementType::i32, Quantity::output).bound, 0);
  EXPECT_EQ(toleranceForQuantizedQueries(Quantity::output).bound, 2e-2);
  EXPECT_TRUE(toleranceForQuantizedQueries(Quantity::output).relative);
  EXPECT_FALSE(toleranceForQuantizedQueries(Quantity::logSumExp).relative);
}

TEST(Values, EveryType) {
  auto first = [](auto value) {
    return (*toDoubles("x", TensorView(&value, std::array<std::int64_t, 0>{})))
        .at(0);
  };
  EXPECT_EQ(first(1.5), 1.5);
  EXPECT_EQ(first(1.5f), 1.5);
  EXPECT_EQ(first(f16(1.5f)), 1.5);
  EXPECT_EQ(first(bf16(1.5f)), 1.5);
  EXPECT_EQ(first(std::int64_t(-7)), -7);
  EXPECT_EQ(first(std::int32_t(-7)), -7);
  EXPECT_EQ(first(std::int16_t(-7)), -7);
  EXPECT_EQ(first(std::int8_t(-7)), -7);
  EXPECT_EQ(first(true), 1);
}

TEST(Values, Strides) {
  float data[] = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(*toDoubles("x", TensorView(data, std::array<std::int64_t, 2>{3, 2},
                                       std::array<std::int64_t, 2>{1, 3})),
            (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(*toDoubles("x", TensorView(data + 2, std::array<std::int64_t, 1>{3},
                                       std::array<std::int64_t, 1>{-1})),
            (std::vector<double>{2, 1, 0}));
  EXPECT_EQ(
      *toDoubles("x", TensorView(data + 4, std::array<std::int64_t, 2>{2, 2},
                                 std::array<std::int64_t, 2>{0, 1})),
      (std::vector<double>{4, 5, 4, 5}));
}

TEST(Values, Errors) {
  float data[1];
  auto message = [&](std::vector<std::int64_t> sizes, float *pointer) {
    Expected<std::vector<double>> values =
        toDoubles("x", TensorView(pointer, sizes));
    return values ? std::string() : values.error().message;
  };
  EXPECT_EQ(message({2, 0, 3}, nullptr), "");
  EXPECT_EQ(message({2}, nullptr), "x: the data pointer is null");
  EXPECT_EQ(message({-2}, data), "x: size -2 is negative");
  EXPECT_EQ(message({std::int64_t(1) << 40, std::int64_t(1) << 40}, data),
            "x: the number of elements overflows");
  EXPECT_EQ(message(std::vector<std::int64_t>(9, 1), data),
            "x: expected at most 8 dimensions");
}

//===- HostTypesTest.cpp - Narrow floats and views -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/element_type.h"
#include "attn/tensor_view.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>

using namespace attn;

/// The value of a 16-bit float with `exponentBits` exponent bits, from the
/// definition of the format.
static double decode(std::uint16_t bits, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  int bias = (1 << (exponentBits - 1)) - 1;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp((1 << mantissaBits) + mantissa,
                           exponent - bias - mantissaBits);
}

/// Rounds to nearest, ties to even, by looking at both neighbours.
template <typename T, int exponentBits>
static std::uint16_t encode(float value) {
  std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::abs(double(value));
  constexpr std::uint16_t infinity = ((1 << exponentBits) - 1)
                                     << (15 - exponentBits);
  // The largest pattern that is not above the value.
  std::uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    std::uint16_t middle = std::uint16_t((low + high) / 2);
    (decode(middle, exponentBits) <= magnitude ? low : high) = middle;
  }
  if (magnitude == std::numeric_limits<double>::infinity())
    return sign | infinity;
  // The rounding point between the largest finite value and infinity lies
  // where the next value would be if exponents went on.
  double below = decode(low, exponentBits);
  double above = high == infinity
                     ? 2 * below - decode(std::uint16_t(low - 1), exponentBits)
                     : decode(high, exponentBits);
  double middle = (below + above) / 2;
  bool up = magnitude > middle || (magnitude == middle && (low & 1));
  return sign | (up ? high : low);
}

template <typename T, int exponentBits> static void checkAllPatterns() {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    T value = T::fromBits(std::uint16_t(bits));
    double expected = decode(std::uint16_t(bits), exponentBits);
    float got = value;
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << std::hex << bits;
      EXPECT_TRUE(std::isnan(float(T(got)))) << std::hex << bits;
      continue;
    }
    ASSERT_EQ(double(got), expected) << std::hex << bits;
    ASSERT_EQ(std::signbit(got), std::signbit(expected)) << std::hex << bits;
    ASSERT_EQ(T(got).bits, bits) << std::hex << bits;
  }
}

template <typename T, int exponentBits> static void checkRounding() {
  auto check = [](float value) {
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float(T(value))));
      return;
    }
    ASSERT_EQ(T(value).bits, (encode<T, exponentBits>(value)))
        << std::hexfloat << value;
  };
  std::mt19937 random(1);
  // Any bit pattern, and values of a size that both formats hold.
  for (int i = 0; i < 300000; ++i)
    check(std::bit_cast<float>(std::uint32_t(random())));
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100000; ++i)
    check(normal(random));
  // Halfway between neighbours, and the f32 numbers next to that.
  for (unsigned bits = 0; bits < 0x7fff; ++bits) {
    double below = decode(std::uint16_t(bits), exponentBits);
    double above = decode(std::uint16_t(bits + 1), exponentBits);
    if (!std::isfinite(below) || !std::isfinite(above))
      continue;
    float middle = float((below + above) / 2);
    check(middle);
    check(-middle);
    check(std::nextafter(middle, 0.0f));
    check(std::nextafter(middle, std::numeric_limits<float>::infinity()));
  }
  check(std::numeric_limits<float>::max());
  check(std::numeric_limits<float>::denorm_min());
  check(std::numeric_limits<float>::infinity());
  check(-std::numeric_limits<float>::infinity());
  check(0.0f);
  check(-0.0f);
}

TEST(HostTypes, F16AllPatterns) { checkAllPatterns<f16, 5>(); }
TEST(HostTypes, BF16AllPatterns) { checkAllPatterns<bf16, 8>(); }
TEST(HostTypes, F16Rounding) { checkRounding<f16, 5>(); }
TEST(HostTypes, BF16Rounding) { checkRounding<bf16, 8>(); }

TEST(HostTypes, F16Limits) {
  EXPECT_EQ(f16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(f16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16(-65520.0f).bits, 0xfc00);
  EXPECT_EQ(f16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(f16(0x1p-25f).bits, 0x0000); // A tie, to even.
  EXPECT_EQ(f16(0x1.000002p-25f).bits, 0x0001);
}

TEST(HostTypes, NaNKeepsSignAndIsQuiet) {
  EXPECT_EQ(f16(std::bit_cast<float>(0x7f800001u)).bits, 0x7e00);
  EXPECT_EQ(f16(std::bit_cast<float>(0xffc00000u)).bits, 0xfe00);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x7f800001u)).bits, 0x7fc0);
  EXPECT_EQ(bf16(std::bit_cast<float>(0xffc00000u)).bits, 0xffc0);
}

TEST(HostTypes, ConversionsAreConstant) {
  static_assert(f16(1.0f).bits == 0x3c00 && float(f16::fromBits(1)) > 0);
  static_assert(bf16(1.0f).bits == 0x3f80 &&
                float(bf16::fromBits(0x4000)) == 2.0f);
}

/// The value of a float of 8 bits, from the definition of the format.
template <int mantissaBits> static double decode8(int bits) {
  constexpr int exponentBits = 7 - mantissaBits,
                bias = (1 << (exponentBits - 1)) - 1,
                highest = (1 << exponentBits) - 1;
  int mantissa = bits & ((1 << mantissaBits) - 1),
      exponent = (bits & 0x7f) >> mantissaBits;
  double sign = bits & 0x80 ? -1 : 1;
  constexpr bool hasInfinity = mantissaBits == 2;
  if (hasInfinity && exponent == highest && mantissa == 0)
    return sign * std::numeric_limits<double>::infinity();
  if (hasInfinity ? exponent == highest : (bits & 0x7f) == 0x7f)
    return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp((1 << mantissaBits) + mantissa,
                           exponent - bias - mantissaBits);
}

template <int mantissaBits> static void testFloat8(int largest) {
  using T = float8<mantissaBits>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (int bits = 0; bits < 256; ++bits) {
    double expected = decode8<mantissaBits>(bits),
           actual = float(T::fromBits(std::uint8_t(bits)));
    EXPECT_TRUE(actual == expected ||
                (std::isnan(actual) && std::isnan(expected)))
        << bits;
    if (std::isfinite(expected))
      EXPECT_EQ(T(expected).bits, bits);
  }
  for (int bits = 0; bits < largest; ++bits) {
    double middle =
        (decode8<mantissaBits>(bits) + decode8<mantissaBits>(bits + 1)) / 2;
    EXPECT_EQ(T(middle).bits, bits + bits % 2);
    EXPECT_EQ(T(std::nextafter(middle, 0)).bits, bits);
    EXPECT_EQ(T(std::nextafter(middle, infinity)).bits, bits + 1);
    EXPECT_EQ(T(-middle).bits, 0x80 + bits + bits % 2);
  }
  for (double beyond : {1e9, 1e300, infinity}) {
    EXPECT_EQ(T(beyond).bits, largest);
    EXPECT_EQ(T(-beyond).bits, 0x80 + largest);
  }
  EXPECT_TRUE(std::isnan(float(T(std::numeric_limits<double>::quiet_NaN()))));
}

TEST(HostTypes, Float8) {
  testFloat8<3>(0x7e);
  testFloat8<2>(0x7b);
  static_assert(f8e4m3fn(448).bits == 0x7e && float(f8e5m2(1)) == 1);
}

TEST(HostTypes, NamesAndSizes) {
  EXPECT_EQ(nameOf(ElementType::f8e4m3fn), "f8E4M3FN");
  EXPECT_EQ(nameOf(ElementType::f8e5m2), "f8E5M2");
  EXPECT_EQ(sizeOf(ElementType::f8e5m2), 1u);
  EXPECT_EQ(nameOf(ElementType::bf16), "bf16");
  EXPECT_EQ(nameOf(ElementType::i1), "i1");
  EXPECT_EQ(sizeOf(ElementType::i1), 1u);
  EXPECT_EQ(sizeOf(ElementType::bf16), 2u);
  EXPECT_EQ(sizeOf(ElementType::f64), 8u);
  EXPECT_TRUE(isFloat(ElementType::bf16));
  EXPECT_FALSE(isFloat(ElementType::i64));
}

TEST(TensorView, DenseStrides) {
  float data[24];
  TensorView view(data, std::array<std::int64_t, 3>{2, 3, 4});
  EXPECT_EQ(view.rank(), 3);
  EXPECT_EQ(view.stride(0), 12);
  EXPECT_EQ(view.stride(1), 4);
  EXPECT_EQ(view.stride(2), 1);
  EXPECT_EQ(view.type(), ElementType::f32);
  EXPECT_FALSE(view.readOnly());
}

TEST(TensorView, ConstIsReadOnly) {
  const std::int32_t data[2] = {};
  EXPECT_TRUE(TensorView(data, std::array<std::int64_t, 1>{2}).readOnly());
}

TEST(TensorView, BadShapesHaveRankMinusOne) {
  float data[1];
  EXPECT_EQ(TensorView(data, std::array<std::int64_t, 9>{}).rank(), -1);
  EXPECT_EQ(TensorView(data, std::array<std::int64_t, 2>{1, 1},
                       std::array<std::int64_t, 1>{1})
                .rank(),
            -1);
}

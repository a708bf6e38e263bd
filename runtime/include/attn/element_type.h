//===- element_type.h - Element types of tensors ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that kernels take, and host types for the two 16-bit float
// formats that C++20 lacks.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ELEMENT_TYPE_H
#define ATTN_ELEMENT_TYPE_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace attn {

/// Element type of a tensor or scalar argument. `i1` is one byte per element,
/// 0 or 1, as C++ `bool`. MLIR's `index` is `i64` here. The floats of 8 bits
/// are elements of caches alone.
enum class ElementType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  i1,
  f8e4m3fn,
  f8e5m2
};

/// The last one of them.
inline constexpr ElementType lastElementType = ElementType::f8e5m2;

/// Name of the type as MLIR spells it, e.g. "bf16".
constexpr std::string_view nameOf(ElementType type) {
  switch (type) {
  case ElementType::f64:
    return "f64";
  case ElementType::f32:
    return "f32";
  case ElementType::f16:
    return "f16";
  case ElementType::bf16:
    return "bf16";
  case ElementType::i64:
    return "i64";
  case ElementType::i32:
    return "i32";
  case ElementType::i16:
    return "i16";
  case ElementType::i8:
    return "i8";
  case ElementType::i1:
    return "i1";
  case ElementType::f8e4m3fn:
    return "f8E4M3FN";
  case ElementType::f8e5m2:
    return "f8E5M2";
  }
  return "?";
}

/// True for f64, f32, f16 and bf16, in which kernels compute.
constexpr bool isFloat(ElementType type) { return type <= ElementType::bf16; }

/// True for the floats of 8 bits, which caches store.
constexpr bool isFloat8(ElementType type) {
  return type == ElementType::f8e4m3fn || type == ElementType::f8e5m2;
}

/// IEEE 754 binary16. Conversion from `float` rounds to nearest, ties to even;
/// overflow gives infinity, NaN stays (quiet) NaN.
struct f16 {
  std::uint16_t bits = 0;

  constexpr f16() = default;
  explicit constexpr f16(float value) : bits(encode(value)) {}
  static constexpr f16 fromBits(std::uint16_t bits) {
    f16 result;
    result.bits = bits;
    return result;
  }
  constexpr operator float() const {
    std::uint32_t sign = std::uint32_t(bits & 0x8000u) << 16;
    std::uint32_t exponent = (bits >> 10) & 0x1fu;
    std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1f)
      return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) { // Zero or subnormal: mantissa * 2^-24 is exact in f32.
      float magnitude = float(mantissa) * 0x1p-24f;
      return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                                (mantissa << 13));
  }

private:
  static constexpr std::uint16_t encode(float value) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    std::uint16_t sign = std::uint16_t((u >> 16) & 0x8000u);
    std::uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) // NaN: keep the top payload bits, set quiet.
      return std::uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x477ff000u) // Rounds to 2^16 or above.
      return std::uint16_t(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { // Subnormal or zero: unit is 2^-24.
      // Adding 0.5 aligns the unit with the last mantissa bit of the sum, so
      // the hardware addition does the rounding.
      float sum = std::bit_cast<float>(magnitude) + 0.5f;
      return std::uint16_t(sign |
                           (std::bit_cast<std::uint32_t>(sum) - 0x3f000000u));
    }
    std::uint32_t odd = (magnitude >> 13) & 1u;
    return std::uint16_t(sign |
                         ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
};

/// bfloat16: the upper half of binary32. Conversion from `float` rounds to
/// nearest, ties to even; NaN stays (quiet) NaN.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  explicit constexpr bf16(float value) : bits(encode(value)) {}
  static constexpr bf16 fromBits(std::uint16_t bits) {
    bf16 result;
    result.bits = bits;
    return result;
  }
  constexpr operator float() const {
    return std::bit_cast<float>(std::uint32_t(bits) << 16);
  }

private:
  static constexpr std::uint16_t encode(float value) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u)
      return std::uint16_t((u >> 16) | 0x40u);
    return std::uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};

/// A float of 8 bits with a sign and `mantissaBits`, of the OCP 8-bit Floating
/// Point Specification (OFP8): with 3 of these E4M3, in the variant without
/// infinities; with 2 E5M2. Conversion rounds to nearest, ties to even, and to
/// the largest number from beyond it, infinities too; NaN stays NaN.
template <int mantissaBits> struct float8 {
  static_assert(mantissaBits == 2 || mantissaBits == 3);
  std::uint8_t bits = 0;

  constexpr float8() = default;
  explicit constexpr float8(double value) : bits(encode(value)) {}
  static constexpr float8 fromBits(std::uint8_t bits) {
    float8 result;
    result.bits = bits;
    return result;
  }
  constexpr operator float() const {
    // The bits of f16 begin as those of E5M2. E4M3 has a bit less of an
    // exponent, which a factor makes up for.
    std::uint16_t magnitude = bits & 0x7fu, sign = std::uint16_t(bits & 0x80u);
    if constexpr (isE5M2)
      return f16::fromBits(std::uint16_t((sign | magnitude) << 8));
    if (magnitude == 0x7f)
      return std::bit_cast<float>(0x7fc00000u);
    return f16::fromBits(std::uint16_t(sign << 8 | magnitude << 7)) * 256.0f;
  }

private:
  static constexpr bool isE5M2 = mantissaBits == 2;
  static constexpr int leastExponent = isE5M2 ? -14 : -6;

  static constexpr std::uint8_t encode(double value) {
    auto u = std::bit_cast<std::uint64_t>(value);
    std::uint8_t sign = std::uint8_t((u >> 56) & 0x80u);
    if (value != value)
      return std::uint8_t(sign | 0x7fu);
    constexpr double largest = isE5M2 ? 57344 : 448;
    double magnitude = std::bit_cast<double>(u & ~(std::uint64_t(1) << 63));
    if (magnitude > largest)
      magnitude = largest;
    int exponent = int((std::bit_cast<std::uint64_t>(magnitude) >> 52)) - 1023;
    if (exponent < leastExponent)
      exponent = leastExponent;
    // The number of steps of the binade; where it is that of the next one's
    // first number, the sum below is its code.
    double step = std::bit_cast<double>(
        std::uint64_t(1023 + exponent - mantissaBits) << 52);
    int steps = int(magnitude / step);
    double rest = magnitude / step - steps;
    steps += rest > 0.5 || (rest == 0.5 && steps % 2 != 0);
    return std::uint8_t(sign |
                        (((exponent - leastExponent) << mantissaBits) + steps));
  }
};
using f8e4m3fn = float8<3>;
using f8e5m2 = float8<2>;

/// Calls `function` with the host C++ type of an element type, as a
/// `std::type_identity`, and returns what it does.
template <typename Function>
constexpr auto visitElementType(ElementType type, Function &&function) {
  switch (type) {
  case ElementType::f64:
    return function(std::type_identity<double>());
  case ElementType::f32:
    return function(std::type_identity<float>());
  case ElementType::f16:
    return function(std::type_identity<f16>());
  case ElementType::bf16:
    return function(std::type_identity<bf16>());
  case ElementType::i64:
    return function(std::type_identity<std::int64_t>());
  case ElementType::i32:
    return function(std::type_identity<std::int32_t>());
  case ElementType::i16:
    return function(std::type_identity<std::int16_t>());
  case ElementType::i8:
    return function(std::type_identity<std::int8_t>());
  case ElementType::f8e4m3fn:
    return function(std::type_identity<f8e4m3fn>());
  case ElementType::f8e5m2:
    return function(std::type_identity<f8e5m2>());
  case ElementType::i1:
    break;
  }
  return function(std::type_identity<bool>());
}

/// Size of one element in bytes.
constexpr std::size_t sizeOf(ElementType type) {
  return visitElementType(
      type, []<typename T>(std::type_identity<T>) { return sizeof(T); });
}

/// Maps a host C++ type to its element type: `elementTypeOf<float>` is f32.
template <typename T>
inline constexpr ElementType elementTypeOf = [] {
  static_assert(sizeof(T) == 0, "no element type for this host type");
  return ElementType::f32;
}();
template <>
inline constexpr ElementType elementTypeOf<double> = ElementType::f64;
template <>
inline constexpr ElementType elementTypeOf<float> = ElementType::f32;
template <> inline constexpr ElementType elementTypeOf<f16> = ElementType::f16;
template <>
inline constexpr ElementType elementTypeOf<bf16> = ElementType::bf16;
template <>
inline constexpr ElementType elementTypeOf<std::int64_t> = ElementType::i64;
template <>
inline constexpr ElementType elementTypeOf<std::int32_t> = ElementType::i32;
template <>
inline constexpr ElementType elementTypeOf<std::int16_t> = ElementType::i16;
template <>
inline constexpr ElementType elementTypeOf<std::int8_t> = ElementType::i8;
template <> inline constexpr ElementType elementTypeOf<bool> = ElementType::i1;
template <>
inline constexpr ElementType elementTypeOf<f8e4m3fn> = ElementType::f8e4m3fn;
template <>
inline constexpr ElementType elementTypeOf<f8e5m2> = ElementType::f8e5m2;

} // namespace attn

#endif // ATTN_ELEMENT_TYPE_H

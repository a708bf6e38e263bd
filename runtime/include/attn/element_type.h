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
/// 0 or 1, as C++ `bool`. MLIR's `index` is `i64` here.
enum class ElementType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  i1
};

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
  }
  return "?";
}

/// True for f64, f32, f16 and bf16.
constexpr bool isFloat(ElementType type) { return type <= ElementType::bf16; }

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

} // namespace attn

#endif // ATTN_ELEMENT_TYPE_H

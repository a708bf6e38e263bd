//===- Values.h - Values as they lie in a GGUF file -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_GGUF_VALUES_H
#define ATTN_EXAMPLES_GGUF_VALUES_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

static_assert(std::endian::native == std::endian::little,
              "numbers are copied between memory and little-endian files");

namespace gguf {

/// Types of metadata, by the format's numbers.
enum ValueType : std::uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64,
  typeCount
};

inline constexpr std::string_view typeNames[typeCount] = {
    "uint8",   "int8", "uint16", "int16",  "uint32", "int32",  "float32",
    "boolean", "text", "array",  "uint64", "int64",  "float64"};

/// Bytes of a value; of a text and an array those that it has at least.
inline constexpr std::uint64_t typeBytes[typeCount] = {1, 1, 2,  2, 4, 4, 4,
                                                       1, 8, 12, 8, 8, 8};

/// The number that the bytes start with.
template <typename T> T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

inline std::string_view asText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Takes values from the front of the rest of the bytes. The first one that is
/// not there makes it fail for good; what it gives then is 0 or empty.
class Cursor {
public:
  explicit Cursor(std::span<const std::byte> rest) : rest(rest) {}

  bool failed() const { return isFailed; }
  std::span<const std::byte> remaining() const { return rest; }

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest.size())
      isFailed = true;
    if (isFailed)
      return {};
    std::span<const std::byte> front = rest.first(std::size_t(size));
    rest = rest.subspan(std::size_t(size));
    return front;
  }

  template <typename T> T take() {
    std::span<const std::byte> front = take(sizeof(T));
    return isFailed ? T() : load<T>(front);
  }

  std::span<const std::byte> takeString() {
    return take(take<std::uint64_t>());
  }

private:
  std::span<const std::byte> rest;
  bool isFailed = false;
};

} // namespace gguf

#endif // ATTN_EXAMPLES_GGUF_VALUES_H

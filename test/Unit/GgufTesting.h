//===- GgufTesting.h - Writes GGUF files for tests --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_GGUFTESTING_H
#define ATTN_TEST_UNIT_GGUFTESTING_H

#include "examples/gguf/File.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Little-endian bytes of a number.
template <typename T> std::string bytesOf(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

/// A text as the format has it, with its length.
inline std::string lengthAnd(std::string_view text) {
  return bytesOf<std::uint64_t>(text.size()) + std::string(text);
}

/// The bytes of a file of version 3, with anything in it.
struct GgufWriter {
  std::string metadata, tensors, data;
  std::uint64_t numValues = 0, numTensors = 0;
  std::uint64_t alignment = 32;

  /// An entry of type `type`, the format's number, whose bytes are `value`.
  void add(std::string_view key, std::uint32_t type, const std::string &value) {
    metadata += lengthAnd(key) + bytesOf(type) + value;
    ++numValues;
  }
  void addText(std::string_view key, std::string_view text) {
    add(key, 8, lengthAnd(text));
  }
  void addInteger(std::string_view key, std::uint32_t value) {
    add(key, 4, bytesOf(value));
  }
  void addTexts(std::string_view key, const std::vector<std::string> &texts) {
    std::string value =
        bytesOf<std::uint32_t>(8) + bytesOf<std::uint64_t>(texts.size());
    for (const std::string &text : texts)
      value += lengthAnd(text);
    add(key, 9, value);
  }
  void addIntegers(std::string_view key,
                   const std::vector<std::int32_t> &numbers) {
    std::string value =
        bytesOf<std::uint32_t>(5) + bytesOf<std::uint64_t>(numbers.size());
    for (std::int32_t number : numbers)
      value += bytesOf(number);
    add(key, 9, value);
  }

  /// A tensor whose sizes are in the file's order, those of rows first.
  void describe(std::string_view name, const std::vector<std::uint64_t> &sizes,
                std::uint32_t type, std::uint64_t offset) {
    tensors += lengthAnd(name) + bytesOf(std::uint32_t(sizes.size()));
    for (std::uint64_t size : sizes)
      tensors += bytesOf(size);
    tensors += bytesOf(type) + bytesOf(offset);
    ++numTensors;
  }
  void addTensor(std::string_view name, const std::vector<std::uint64_t> &sizes,
                 std::uint32_t type, std::string_view elements) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    describe(name, sizes, type, data.size());
    data += elements;
  }

  std::string file() const {
    std::string bytes = "GGUF" + bytesOf<std::uint32_t>(3) +
                        bytesOf(numTensors) + bytesOf(numValues) + metadata +
                        tensors;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data;
  }
};

inline attn::Expected<gguf::File> parseGguf(std::string_view bytes) {
  return gguf::File::parse(std::as_bytes(std::span(bytes)));
}

#endif // ATTN_TEST_UNIT_GGUFTESTING_H

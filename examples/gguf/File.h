//===- File.h - Model files in the GGUF format ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads versions 2 and 3 of the format, little-endian:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
// Whatever the bytes are, parsing ends in a file of which every string and
// every tensor lies within them, or in an error.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_GGUF_FILE_H
#define ATTN_EXAMPLES_GGUF_FILE_H

#include "attn/error.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gguf {

/// How elements are stored: one by one, or in blocks of 32 with factors of
/// their own (see `dequantizeRow`). The numbers are those of the format.
enum class Type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_1 = 3,
  q8_0 = 8,
  bf16 = 30
};

/// A tensor of a file, dense and row-major.
struct Tensor {
  Type type = Type::f32;
  /// Slowest first, so that the last one is that of a row; the file has them
  /// the other way round.
  std::vector<std::int64_t> sizes;
  std::span<const std::byte> data;
};

/// Metadata and tensors of a file. Copies share its bytes.
class File {
public:
  /// Parses a file; the bytes are copied. Errors: anything that is not of the
  /// format, a name that comes twice, a tensor type that is not in `Type`,
  /// and arrays of arrays.
  static attn::Expected<File> parse(std::span<const std::byte> bytes);
  /// The same of a file on disk; errors begin with its path.
  static attn::Expected<File> read(const std::string &path);

  /// Of the metadata, in their order as texts.
  std::vector<std::string_view> keys() const;
  // Metadata by key. Errors: there is none, or it is of another type. The texts
  // live as long as a copy of the file.
  bool has(std::string_view key) const { return metadata.contains(key); }
  attn::Expected<std::int64_t> integer(std::string_view key) const;
  attn::Expected<bool> boolean(std::string_view key) const;
  attn::Expected<double> real(std::string_view key) const;
  attn::Expected<std::string_view> text(std::string_view key) const;
  attn::Expected<std::vector<std::int64_t>>
  integers(std::string_view key) const;
  attn::Expected<std::vector<double>> reals(std::string_view key) const;
  attn::Expected<std::vector<std::string_view>>
  texts(std::string_view key) const;

  /// The tensor of that name; null if there is none.
  const Tensor *findTensor(std::string_view name) const;
  const std::map<std::string_view, Tensor> &tensors() const {
    return namedTensors;
  }

private:
  friend class Parser;

  /// A value, or the elements of an array, as they lie in the file.
  struct Value {
    std::uint32_t type = 0;
    bool isArray = false;
    std::uint64_t count = 1;
    std::span<const std::byte> bytes;
  };

  static attn::Expected<File> parse(std::shared_ptr<const std::byte[]> bytes,
                                    std::size_t size);
  attn::Expected<Value> find(std::string_view key, bool isArray) const;

  std::shared_ptr<const std::byte[]> bytes;
  std::map<std::string_view, Value> metadata;
  std::map<std::string_view, Tensor> namedTensors;
};

/// Number of elements of a block, and its size in bytes.
struct Block {
  std::int64_t elements = 1;
  std::int64_t bytes = 1;
};
Block blockOf(Type type);

} // namespace gguf

#endif // ATTN_EXAMPLES_GGUF_FILE_H

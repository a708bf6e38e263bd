//===- Parser.h - Bytes to a GGUF file --------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_GGUF_PARSER_H
#define ATTN_EXAMPLES_GGUF_PARSER_H

#include "examples/gguf/File.h"
#include "examples/gguf/Values.h"

namespace gguf {

/// Fills a file with what its bytes, which it keeps, say.
class Parser {
public:
  Parser(File &file, std::span<const std::byte> bytes)
      : file(file), size(bytes.size()), cursor(bytes) {}

  attn::Status parse();

private:
  struct Place {
    Tensor *tensor;
    std::string_view name;
    std::uint64_t offset, bytes;
  };

  attn::Status parseValue();
  attn::Expected<Place> parseTensor();

  File &file;
  std::uint64_t size;
  Cursor cursor;
};

/// Whether a file of so many bytes is one that is parsed: below 2 GiB.
attn::Status checkSize(std::uint64_t size);

} // namespace gguf

#endif // ATTN_EXAMPLES_GGUF_PARSER_H

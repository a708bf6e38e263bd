//===- GgufParser.h - Bytes to a GGUF file ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_GGUFPARSER_H
#define ATTN_EXAMPLES_SMOLLM2_GGUFPARSER_H

#include "examples/smollm2/GgufFile.h"
#include "examples/smollm2/GgufValues.h"

namespace smollm2 {

/// Fills a file with what its bytes, which it keeps, say.
class GgufParser {
public:
  GgufParser(GgufFile &file, std::span<const std::byte> bytes)
      : file(file), size(bytes.size()), cursor(bytes) {}

  attn::Status parse();

private:
  struct Place {
    GgufTensor *tensor;
    std::string_view name;
    std::uint64_t offset, bytes;
  };

  attn::Status parseValue();
  attn::Expected<Place> parseTensor();

  GgufFile &file;
  std::uint64_t size;
  Cursor cursor;
};

/// Whether a file of so many bytes is one that is parsed: below 2 GiB.
attn::Status checkGgufSize(std::uint64_t size);

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_GGUFPARSER_H

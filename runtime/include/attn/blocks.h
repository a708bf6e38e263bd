//===- blocks.h - The blocks that a kernel computes -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BLOCKS_H
#define ATTN_BLOCKS_H

#include "attn/error.h"
#include "attn/export.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// What to show, and for which sizes. Those that the text says may be left out.
struct BlockOptions {
  /// Batch entries (1 if the text leaves it open), queries, keys, and the
  /// position of the first query. Of packed sequences: their number, and the
  /// lengths of one.
  std::optional<std::int64_t> batch, queryLength, keyLength, offset;
  /// A line of characters for each tile of queries; or an SVG document.
  enum class Format { text, svg };
  Format format = Format::text;
  /// As in CompileOptions and EngineOptions.
  std::string entry;
  std::string fileName = "<string>";
  std::string cpu;
};

/// Which blocks of queries and keys a kernel of the "cpu" pipeline skips,
/// computes with the mask, and computes without it, for every `attn.attention`
/// of one function of `text`. The answer is that of the code in the kernel;
/// what depends on captured data is marked so. An error carries the MLIR
/// diagnostics with their locations.
ATTN_EXPORT Expected<std::string> showBlocks(std::string_view text,
                                             const BlockOptions &options = {});

} // namespace attn

#endif // ATTN_BLOCKS_H

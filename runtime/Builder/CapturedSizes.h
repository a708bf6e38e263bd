//===- CapturedSizes.h - Sizes of what masks and scores read ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_CAPTUREDSIZES_H
#define ATTN_RUNTIME_BUILDER_CAPTUREDSIZES_H

#include "attn/attention.h"

#include <array>
#include <optional>
#include <string>

namespace attn::builder {

/// How many values a position has.
struct Extent {
  std::string meaning; ///< "key length"
  /// A number; if that is `dynamic`, dimension `dim` of an argument, and
  /// `delta` more.
  std::int64_t size = dynamic;
  std::string argument = {}, type = {};
  std::size_t dim = 0;
  std::int64_t delta = 0;
};

/// The size of dimension `dim` of an argument, and `delta` more.
Extent getExtent(std::string meaning, const detail::Declaration &argument,
                 std::size_t dim, std::int64_t delta = 0);

/// Of batch (or sequence), query head, query, key, and row of the query;
/// nothing where positions are not counted from 0 to a size.
using Extents = std::array<std::optional<Extent>, 5>;

/// The number of sequences, and nothing of positions in them.
Extents getPackedExtents(const Attention &attention);

/// Operations that check the sizes of the tensors that named masks and scores
/// read, a line for each, so that a call with another size gets an error. An
/// error where a size is known to be wrong.
Expected<std::string> writeSizeChecks(const Attention &attention,
                                      const Extents &extents);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_CAPTUREDSIZES_H

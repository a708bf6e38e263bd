//===- Cache.h - The oracle for caches of keys and values -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What attn.cache_append and attn.cache_read do, position by position. Shares
// no code with the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_CACHE_H
#define ATTN_REFERENCE_CACHE_H

#include "attn/error.h"
#include "attn/tensor_view.h"

#include <array>
#include <cstdint>
#include <vector>

namespace attn::reference {

/// A cache of keys, or of values.
struct Cache {
  enum class Kind { contiguous, ring, paged };
  Kind kind = Kind::contiguous;
  /// f64, f32, f16, bf16, a float of 8 bits or i8.
  ElementType type = ElementType::f32;
  /// (B, Hkv, capacity, D), or (pages, Hkv, page size, D).
  std::array<std::int64_t, 4> shape{};
  std::vector<double> elements; ///< Row-major.
  /// Of i8: what an element of each row counts; `shape` without D.
  std::vector<double> scales;
  /// Of pages: (sequences, maxPages).
  std::vector<std::int64_t> table;
  std::int64_t maxPages = 0;
};

/// Appends the rows of a view (B, Hkv, n, D) to sequences of `lengths` rows:
/// the first `counts[b]`, or all if `counts` is empty. If `cumulative` is not,
/// rows are packed, (1, Hkv, n, D), and those of a sequence are from
/// `cumulative[b]` up to the next one. Nothing is changed if there is an error:
/// a number out of its bounds, or a page that may not be written.
Status append(Cache &cache, const TensorView &rows,
              const std::vector<std::int64_t> &lengths,
              const std::vector<std::int64_t> &counts,
              const std::vector<std::int64_t> &cumulative = {});

/// The rows of the first `n` positions, (B, Hkv, n, D), 0 where they are
/// absent, as `result` rounds the product of element and scale.
Expected<std::vector<double>> read(const Cache &cache,
                                   const std::vector<std::int64_t> &lengths,
                                   std::int64_t n, ElementType result);

/// Whether the row of a position is in a cache: of a ring with a capacity, or
/// of another cache with -1.
constexpr bool isStored(std::int64_t position, std::int64_t length,
                        std::int64_t ringCapacity) {
  return position < length &&
         (ringCapacity < 0 || position >= length - ringCapacity);
}

} // namespace attn::reference

#endif // ATTN_REFERENCE_CACHE_H

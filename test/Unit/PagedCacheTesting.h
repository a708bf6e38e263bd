//===- PagedCacheTesting.h - What kernels do to a cache ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tokens are numbers here, and the bytes of their rows follow from them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_PAGEDCACHETESTING_H
#define ATTN_TEST_UNIT_PAGEDCACHETESTING_H

#include "attn/paged_cache.h"

#include "gtest/gtest.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace attn::test {

using Token = std::uint32_t;
using Tokens = std::vector<Token>;
using Ids = std::vector<SequenceId>;
using Counts = std::vector<std::int64_t>;

inline std::int32_t at(const TensorView &vector, std::size_t index) {
  return static_cast<const std::int32_t *>(vector.data())[index];
}
inline std::int32_t at(const TensorView &table, std::size_t row,
                       std::int64_t column) {
  return at(table, row * std::size_t(table.stride(0)) + std::size_t(column));
}

/// Where the token at `position` of sequence `row` is.
struct Place {
  std::int32_t page;
  std::int64_t slot;
};
inline Place placeOf(const PagedCache &cache, const CacheStep &step,
                     std::size_t row, std::int64_t position) {
  std::int64_t pageSize = cache.options().pageSize;
  return {at(step.table(), row, position / pageSize), position % pageSize};
}

/// Calls `function(bytes, seed)` for all rows of a place, those of each layer,
/// part and head with another seed.
template <typename Function>
void forEachRow(const PagedCache &cache, Place place, Function function) {
  std::uint32_t seed = 0;
  for (std::int64_t layer = 0; layer < cache.options().layers; ++layer)
    for (const TensorView &part :
         {cache.keys(layer), cache.values(layer), cache.keyScales(layer),
          cache.valueScales(layer)}) {
      if (part.rank() < 0)
        continue;
      std::size_t size = sizeOf(part.type());
      std::size_t bytes =
          size * std::size_t(part.rank() == 4 ? part.size(3) : 1);
      for (std::int64_t head = 0; head < part.size(1); ++head) {
        std::int64_t offset = place.page * part.stride(0) +
                              head * part.stride(1) +
                              place.slot * part.stride(2);
        function(std::span(static_cast<std::byte *>(part.data()) +
                               offset * std::int64_t(size),
                           bytes),
                 ++seed);
      }
    }
}

inline std::byte byteOf(Token token, std::uint32_t seed, std::size_t index) {
  std::uint32_t mixed =
      (token + 1) * 2654435761U ^ (seed * 131U + std::uint32_t(index)) * 40503U;
  return std::byte((mixed ^ mixed >> 15) & 0xffU);
}

inline void writeToken(const PagedCache &cache, Place place, Token token) {
  forEachRow(cache, place, [&](std::span<std::byte> row, std::uint32_t seed) {
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = byteOf(token, seed, i);
  });
}

inline bool hasToken(const PagedCache &cache, Place place, Token token) {
  bool result = true;
  forEachRow(cache, place, [&](std::span<std::byte> row, std::uint32_t seed) {
    for (std::size_t i = 0; i < row.size(); ++i)
      result &= row[i] == byteOf(token, seed, i);
  });
  return result;
}

/// Writes `tokens` as the new ones of sequence `row`.
inline void writeNew(const PagedCache &cache, const CacheStep &step,
                     std::size_t row, const Tokens &tokens) {
  ASSERT_EQ(std::size_t(at(step.counts(), row)), tokens.size());
  std::int64_t position = at(step.lengths(), row);
  for (Token token : tokens)
    writeToken(cache, placeOf(cache, step, row, position++), token);
}

/// Whether the first tokens of sequence `row` are these.
inline bool startsWith(const PagedCache &cache, const CacheStep &step,
                       std::size_t row, const Tokens &tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (!hasToken(cache, placeOf(cache, step, row, std::int64_t(i)), tokens[i]))
      return false;
  return true;
}

template <typename T> std::string errorOf(const Expected<T> &result) {
  return result ? "" : result.error().message;
}

/// Appends to one sequence, as a step that succeeds.
inline void append(PagedCache &cache, SequenceId sequence,
                   const Tokens &tokens) {
  Expected<CacheStep> step =
      cache.append({sequence}, {std::int64_t(tokens.size())});
  ASSERT_EQ(errorOf(step), "");
  writeNew(cache, *step, 0, tokens);
  step->commit();
}

/// Whether these, and no more, are the tokens of a sequence.
inline bool holds(PagedCache &cache, SequenceId sequence,
                  const Tokens &tokens) {
  Expected<CacheStep> step = cache.append({sequence}, {0});
  return step && std::size_t(at(step->lengths(), 0)) == tokens.size() &&
         startsWith(cache, *step, 0, tokens);
}

inline constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// Small pages of everything that there can be of.
inline PagedCacheOptions makeOptions(std::int64_t pages) {
  return {.pages = pages,
          .pageSize = 4,
          .layers = 2,
          .keyValueHeads = 3,
          .headSize = 5,
          .valueHeadSize = 7,
          .type = ElementType::i8};
}

class PagedCacheTest : public testing::Test {
protected:
  SequenceId create(const Tokens &tokens = {}) {
    SequenceId sequence = *cache.createSequence();
    if (!tokens.empty())
      append(cache, sequence, tokens);
    return sequence;
  }
  std::int64_t usedPages() { return cache.options().pages - cache.freePages(); }

  PagedCache cache = *PagedCache::create(makeOptions(10));
};

inline std::string nameOf(SequenceId sequence) {
  return std::to_string(std::int64_t(sequence));
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_PAGEDCACHETESTING_H

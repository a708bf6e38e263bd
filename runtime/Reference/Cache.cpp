//===- Cache.cpp - The oracle for caches of keys and values -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Cache.h"

#include "runtime/Reference/Memory.h"
#include "runtime/Reference/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

using namespace attn;
using namespace attn::reference;

static constexpr std::int64_t maxLength = std::int64_t(1) << 61;

static Error makeError(std::string message) { return {std::move(message), {}}; }

namespace {
/// Where a row lies: an entry of dimension 0, and a row of it.
struct Place {
  std::int64_t entry, row;
};
} // namespace

static std::int64_t divideCeil(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0);
}

/// The number of pages that a sequence of this length uses.
static std::int64_t countPages(const Cache &cache, std::int64_t length) {
  return cache.shape[2] == 0 ? 0 : divideCeil(length, cache.shape[2]);
}

static Place locate(const Cache &cache, std::int64_t b, std::int64_t position) {
  if (cache.kind == Cache::Kind::contiguous)
    return {b, position};
  std::int64_t row = position % cache.shape[2];
  if (cache.kind == Cache::Kind::ring)
    return {b, row};
  return {
      cache.table[std::size_t(b * cache.maxPages + position / cache.shape[2])],
      row};
}

/// Index of a row among all of the cache's.
static std::size_t rowIndex(const Cache &cache, Place place, std::int64_t h) {
  return std::size_t((place.entry * cache.shape[1] + h) * cache.shape[2] +
                     place.row);
}

/// Checks that sequences of these lengths fit.
static Status checkRoom(const Cache &cache, std::int64_t b,
                        std::int64_t length) {
  bool fits = true;
  if (cache.kind == Cache::Kind::contiguous)
    fits = length <= cache.shape[2];
  if (cache.kind == Cache::Kind::paged)
    fits = length == 0 ||
           (cache.shape[2] > 0 && countPages(cache, length) <= cache.maxPages);
  if (fits)
    return {};
  return makeError("sequence " + std::to_string(b) + ": " +
                   std::to_string(length) + " rows do not fit the cache");
}

static Status checkLength(std::int64_t b, std::int64_t length) {
  if (length >= 0 && length <= maxLength)
    return {};
  return makeError("length of sequence " + std::to_string(b) +
                   ": expected 0 to 2^61, got " + std::to_string(length));
}

/// Checks the pages that appending to a paged cache writes.
static Status checkPages(const Cache &cache,
                         const std::vector<std::int64_t> &lengths,
                         const std::vector<std::int64_t> &counts) {
  auto page = [&](std::size_t b, std::int64_t k) {
    return cache.table[b * std::size_t(cache.maxPages) + std::size_t(k)];
  };
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (counts[b] == 0)
      continue;
    for (std::int64_t k = lengths[b] / cache.shape[2];
         k < countPages(cache, lengths[b] + counts[b]); ++k) {
      if (page(b, k) < 0 || page(b, k) >= cache.shape[0])
        return makeError("page " + std::to_string(page(b, k)) +
                         " is not one of the cache's");
      int uses = 0;
      for (std::size_t other = 0; other < lengths.size(); ++other)
        for (std::int64_t l = 0;
             l < countPages(cache, lengths[other] + counts[other]); ++l)
          uses += page(other, l) == page(b, k);
      if (uses > 1)
        return makeError("page " + std::to_string(page(b, k)) +
                         " is to be written, and used elsewhere");
    }
  }
  return {};
}

/// Stores a row in i8. The arithmetic is that of the definition, in f32.
static double quantize(const double *row, std::size_t size, double *stored) {
  float largest = 0;
  bool isFinite = true;
  for (std::size_t d = 0; d < size; ++d) {
    isFinite &= std::isfinite(float(row[d]));
    largest = std::max(largest, std::fabs(float(row[d])));
  }
  float scale =
      isFinite ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
  for (std::size_t d = 0; d < size; ++d)
    stored[d] = scale > 0 ? std::clamp(std::nearbyint(float(row[d]) / scale),
                                       -127.0f, 127.0f)
                          : 0;
  return scale;
}

Status attn::reference::append(Cache &cache, const TensorView &rows,
                               const std::vector<std::int64_t> &lengths,
                               const std::vector<std::int64_t> &counts,
                               const std::vector<std::int64_t> &cumulative) {
  Expected<std::vector<double>> values = toDoubles("rows", rows);
  if (!values)
    return values.error();
  std::int64_t numRows = rows.size(2);
  std::vector<std::int64_t> added = counts;
  bool isPacked = !cumulative.empty();
  if (isPacked)
    for (std::size_t b = 0; b + 1 < cumulative.size(); ++b) {
      if (cumulative[b] < 0 || cumulative[b + 1] > numRows)
        return makeError("sequences: expected numbers from 0 to " +
                         std::to_string(numRows));
      added.push_back(cumulative[b + 1] - cumulative[b]);
    }
  else if (added.empty())
    added.assign(lengths.size(), numRows);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (Status status = checkLength(std::int64_t(b), lengths[b]); !status)
      return status;
    std::int64_t most = numRows;
    if (cache.kind == Cache::Kind::ring)
      most = std::min(most, cache.shape[2]);
    if (added[b] < 0 || added[b] > most)
      return makeError("rows for sequence " + std::to_string(b) +
                       ": expected 0 to " + std::to_string(most) + ", got " +
                       std::to_string(added[b]));
    if (Status status =
            checkRoom(cache, std::int64_t(b), lengths[b] + added[b]);
        !status)
      return status;
  }
  if (cache.kind == Cache::Kind::paged)
    if (Status status = checkPages(cache, lengths, added); !status)
      return status;

  std::int64_t heads = cache.shape[1], size = cache.shape[3];
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (std::int64_t i = 0; i < added[b]; ++i)
      for (std::int64_t h = 0; h < heads; ++h) {
        std::int64_t first = isPacked ? cumulative[b] : 0,
                     entry = isPacked ? 0 : std::int64_t(b);
        const double *row =
            values->data() + ((entry * heads + h) * numRows + first + i) * size;
        std::size_t to =
            rowIndex(cache, locate(cache, std::int64_t(b), lengths[b] + i), h);
        double *stored = cache.elements.data() + to * std::size_t(size);
        if (cache.type == ElementType::i8) {
          cache.scales[to] = quantize(row, std::size_t(size), stored);
          continue;
        }
        for (std::int64_t d = 0; d < size; ++d)
          stored[d] = roundTo(cache.type, row[d]);
      }
  return {};
}

static Expected<std::vector<double>>
readRows(const Cache &cache, const std::vector<std::int64_t> &lengths,
         std::int64_t n, ElementType result) {
  std::int64_t heads = cache.shape[1], size = cache.shape[3];
  if (n < 0)
    return makeError("expected at least 0 positions, got " + std::to_string(n));
  std::int64_t capacity = cache.kind == Cache::Kind::ring ? cache.shape[2] : -1;
  std::array<std::int64_t, 4> shape = {std::int64_t(lengths.size()), heads, n,
                                       size};
  Expected<std::int64_t> count = countElements("result", shape);
  if (!count)
    return count.error();
  std::vector<double> values(static_cast<std::size_t>(*count));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (Status status = checkLength(std::int64_t(b), lengths[b]); !status)
      return status.error();
    if (Status status = checkRoom(cache, std::int64_t(b), lengths[b]); !status)
      return status.error();
    for (std::int64_t p = 0; p < std::min(n, lengths[b]); ++p) {
      if (!isStored(p, lengths[b], capacity))
        continue;
      Place place = locate(cache, std::int64_t(b), p);
      if (place.entry < 0 || place.entry >= cache.shape[0])
        return makeError("page " + std::to_string(place.entry) +
                         " is not one of the cache's");
      for (std::int64_t h = 0; h < heads; ++h) {
        std::size_t row = rowIndex(cache, place, h);
        for (std::int64_t d = 0; d < size; ++d) {
          double value =
              cache.elements[row * std::size_t(size) + std::size_t(d)];
          if (cache.type == ElementType::i8)
            value = float(value) * float(cache.scales[row]);
          values[std::size_t(((std::int64_t(b) * heads + h) * n + p) * size +
                             d)] = roundTo(result, value);
        }
      }
    }
  }
  return values;
}

Expected<std::vector<double>>
attn::reference::read(const Cache &cache,
                      const std::vector<std::int64_t> &lengths, std::int64_t n,
                      ElementType result) {
  return catchOutOfMemory([&] { return readRows(cache, lengths, n, result); });
}

//===- PagePool.h - Pages and who has them ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CACHE_PAGEPOOL_H
#define ATTN_RUNTIME_CACHE_PAGEPOOL_H

#include "attn/paged_cache.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>

namespace attn::cache {

/// Largest number of a page and of tokens in a sequence: kernels take i32.
inline constexpr std::int64_t largest =
    std::numeric_limits<std::int32_t>::max();

/// A page is some rows of each of these.
enum class Part { keys, values, keyScales, valueScales };

/// Zeros that take memory only once they are touched.
struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};
template <typename T> using ZeroedArray = std::unique_ptr<T[], FreeMemory>;

/// Counts the references to pages, and knows where their rows are. Nothing but
/// `view` and `copyRows` may be called by two threads at once.
class PagePool {
public:
  /// Options that were checked but for whether there is memory.
  static Expected<PagePool> create(const PagedCacheOptions &options);

  /// Of rank -1 if there is no such layer or part.
  TensorView view(Part part, std::int64_t layer) const;

  /// Copies the first `rows` rows of one page to another, in every layer.
  void copyRows(std::int32_t from, std::int32_t to, std::int64_t rows) const;

  std::int64_t countFree() const { return recycled + options.pages - touched; }
  /// A page with one reference. Only if one is free.
  std::int32_t allocate();
  void retain(std::int32_t page) { ++references[page]; }
  /// Drops a reference; the page is free after the last.
  void release(std::int32_t page);
  bool isShared(std::int32_t page) const { return references[page] > 1; }

private:
  /// Where the rows of a part are. None if a row has no bytes.
  struct Layout {
    ElementType type = ElementType::f32;
    std::int64_t rowElements = 0;
    std::size_t rowBytes = 0;
    std::size_t offset = 0; ///< Of layer 0.
    std::size_t layerBytes = 0;
  };

  explicit PagePool(const PagedCacheOptions &options) : options(options) {}
  bool computeLayouts(std::size_t &bytes);
  std::byte *getLayer(const Layout &layout, std::int64_t layer) const {
    return rows + layout.offset + std::size_t(layer) * layout.layerBytes;
  }

  PagedCacheOptions options;
  std::array<Layout, 4> layouts;
  ZeroedArray<std::byte> memory;
  std::byte *rows = nullptr; ///< Where `memory` is aligned.
  ZeroedArray<std::int64_t> references;
  /// The first `recycled` are free again. Pages from `touched` on always were.
  ZeroedArray<std::int32_t> recycledPages;
  std::int64_t recycled = 0;
  std::int64_t touched = 0;
};

} // namespace attn::cache

#endif // ATTN_RUNTIME_CACHE_PAGEPOOL_H

//===- PagePool.cpp - Pages and who has them ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache/PagePool.h"

#include <cassert>
#include <cstring>
#include <string>
#include <sys/mman.h>

using namespace attn;
using namespace attn::cache;

/// Of every layer of a part, so that tiles start where cache lines do.
static constexpr std::size_t alignment = 64;

template <typename T> static ZeroedArray<T> allocateZeroed(std::size_t count) {
  return ZeroedArray<T>(static_cast<T *>(std::calloc(count, sizeof(T))));
}

/// Pages are read in any order, so that each read would miss the TLB in small
/// ones of the machine's.
static void adviseHugePages(std::byte *memory, std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr std::size_t huge = std::size_t(2) << 20;
  std::size_t skipped = -reinterpret_cast<std::uintptr_t>(memory) % huge;
  if (bytes > skipped && bytes - skipped >= huge)
    (void)madvise(memory + skipped, (bytes - skipped) / huge * huge,
                  MADV_HUGEPAGE);
#endif
}

/// False if there are more than `bytes` can tell.
bool PagePool::computeLayouts(std::size_t &bytes) {
  bool hasScales = options.type == ElementType::i8;
  auto fill = [&](Part part, ElementType type, std::int64_t rowElements) {
    Layout &layout = layouts[std::size_t(part)];
    layout.type = type;
    layout.rowElements = rowElements;
    return !__builtin_mul_overflow(rowElements, sizeOf(type), &layout.rowBytes);
  };
  if (!fill(Part::keys, options.type, options.headSize) ||
      !fill(Part::values, options.type,
            options.valueHeadSize.value_or(options.headSize)) ||
      !fill(Part::keyScales, ElementType::f32, hasScales) ||
      !fill(Part::valueScales, ElementType::f32, hasScales))
    return false;

  std::size_t end = 0;
  for (Layout &layout : layouts) {
    layout.offset = end;
    std::size_t size = layout.rowBytes;
    for (std::int64_t factor :
         {options.pageSize, options.keyValueHeads, options.pages})
      if (__builtin_mul_overflow(size, factor, &size))
        return false;
    if (__builtin_add_overflow(size, alignment - 1, &size))
      return false;
    layout.layerBytes = size / alignment * alignment;
    if (__builtin_mul_overflow(layout.layerBytes, options.layers, &size) ||
        __builtin_add_overflow(end, size, &end))
      return false;
  }
  return !__builtin_add_overflow(end, alignment, &bytes) &&
         bytes <= std::size_t(std::numeric_limits<std::ptrdiff_t>::max());
}

Expected<PagePool> PagePool::create(const PagedCacheOptions &options) {
  PagePool pool(options);
  std::size_t bytes;
  if (pool.computeLayouts(bytes)) {
    pool.memory = allocateZeroed<std::byte>(bytes);
    pool.references = allocateZeroed<std::int64_t>(std::size_t(options.pages));
    pool.recycledPages =
        allocateZeroed<std::int32_t>(std::size_t(options.pages));
  }
  if (!pool.memory || !pool.references || !pool.recycledPages)
    return Error{"pages: expected as many as there is memory for, got " +
                     std::to_string(options.pages),
                 {}};
  auto address = reinterpret_cast<std::uintptr_t>(pool.memory.get());
  pool.rows = pool.memory.get() + -address % alignment;
  adviseHugePages(pool.memory.get(), bytes);
  return pool;
}

TensorView PagePool::view(Part part, std::int64_t layer) const {
  const Layout &layout = layouts[std::size_t(part)];
  std::array<std::int64_t, 4> sizes = {options.pages, options.keyValueHeads,
                                       options.pageSize, layout.rowElements};
  std::span<const std::int64_t> shape = sizes;
  if (part == Part::keyScales || part == Part::valueScales)
    shape = shape.first(3);
  if (layer < 0 || layer >= options.layers || layout.rowBytes == 0)
    return TensorView(nullptr, layout.type, shape, {}, /*readOnly=*/true);
  return TensorView(getLayer(layout, layer), layout.type, shape,
                    /*readOnly=*/false);
}

void PagePool::copyRows(std::int32_t from, std::int32_t to,
                        std::int64_t rows) const {
  auto heads = std::size_t(options.keyValueHeads);
  for (const Layout &layout : layouts) {
    if (layout.rowBytes == 0)
      continue;
    std::size_t headBytes = layout.rowBytes * std::size_t(options.pageSize);
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      std::byte *pages = getLayer(layout, layer);
      for (std::size_t head = 0; head < heads; ++head)
        std::memcpy(pages + (std::size_t(to) * heads + head) * headBytes,
                    pages + (std::size_t(from) * heads + head) * headBytes,
                    layout.rowBytes * std::size_t(rows));
    }
  }
}

std::int32_t PagePool::allocate() {
  assert(countFree() > 0);
  // What was used last is the likeliest to be in the processor's caches.
  std::int32_t page =
      recycled > 0 ? recycledPages[--recycled] : std::int32_t(touched++);
  references[page] = 1;
  return page;
}

void PagePool::release(std::int32_t page) {
  assert(references[page] > 0);
  if (--references[page] == 0)
    recycledPages[recycled++] = page;
}

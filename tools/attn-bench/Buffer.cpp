//===- Buffer.cpp - Tensors for measurements ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <type_traits>

using namespace attn;
using namespace attn::bench;

static constexpr std::size_t hugePage = std::size_t(2) << 20;

Buffer::Buffer(ElementType type, std::vector<std::int64_t> bufferSizes)
    : elementType(type), sizes(std::move(bufferSizes)),
      count(std::accumulate(sizes.begin(), sizes.end(), std::int64_t(1),
                            std::multiplies<>())) {
  std::size_t least = std::max<std::size_t>(bytes(), 1);
  std::size_t whole = (least + hugePage - 1) / hugePage * hugePage;
  memory.reset(static_cast<std::byte *>(std::aligned_alloc(hugePage, whole)));
  if (!memory)
    throw std::bad_alloc();
  // A system without huge pages refuses, and measures with small ones.
  (void)madvise(memory.get(), whole, MADV_HUGEPAGE);
}

template <typename Next>
static void fillElements(ElementType type, std::byte *memory,
                         std::int64_t count, Next next) {
  visitElementType(type, [&]<typename T>(std::type_identity<T>) {
    T *elements = reinterpret_cast<T *>(memory);
    for (std::int64_t i = 0; i < count; ++i)
      elements[i] = T(next(i));
  });
}

void Buffer::fillNormal(std::mt19937_64 &random) {
  // Of caches, drawing each element would take longer than measuring.
  std::vector<float> drawn(1 << 16);
  std::normal_distribution<float> normal;
  std::ranges::generate(drawn, [&] { return normal(random); });
  fillElements(elementType, memory.get(), count,
               [&](std::int64_t) { return drawn[random() % drawn.size()]; });
}

void Buffer::fill(const std::function<double(std::int64_t)> &valueAt) {
  fillElements(elementType, memory.get(), count,
               [&](std::int64_t position) { return float(valueAt(position)); });
}

void Buffer::copyFrom(const Buffer &other) {
  std::memcpy(memory.get(), other.memory.get(), other.bytes());
}

TensorView Buffer::viewAt(std::int64_t position,
                          const std::vector<std::int64_t> &viewSizes) const {
  return {memory.get() + position * sizeOf(elementType), elementType, viewSizes,
          /*readOnly=*/true};
}

TensorView Buffer::viewAt(std::int64_t position,
                          const std::vector<std::int64_t> &viewSizes,
                          const std::vector<std::int64_t> &strides) const {
  return {memory.get() + position * sizeOf(elementType), elementType, viewSizes,
          strides, /*readOnly=*/true};
}

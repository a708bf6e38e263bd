//===- ColdCaches.cpp - Keys and values that are not in a cache -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/ColdCaches.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::bench;

static std::size_t getSystemNumber(int name) {
  return std::size_t(std::max(sysconf(name), 0L));
}

/// Bytes to read before memory is read again: twice what the last level of the
/// machine's caches holds, unless that leaves too little for everything else.
static std::size_t getColdBytes() {
  std::size_t atLeast = std::size_t(512) << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
  atLeast = std::max(atLeast, 2 * getSystemNumber(_SC_LEVEL3_CACHE_SIZE));
#endif
  std::size_t available =
      getSystemNumber(_SC_AVPHYS_PAGES) * getSystemNumber(_SC_PAGESIZE);
  return std::min(atLeast, available / 2);
}

/// A cache whose elements are not set.
static ColdCaches::Cache allocate(ElementType type,
                                  const std::vector<std::int64_t> &sizes) {
  ColdCaches::Cache cache{{type, sizes}, {type, sizes}, {}};
  if (type != ElementType::i8)
    return cache;
  const std::vector<std::int64_t> rows(sizes.begin(), sizes.end() - 1);
  for (int i = 0; i < 2; ++i)
    cache.scales.emplace_back(ElementType::f32, rows);
  return cache;
}

ColdCaches::ColdCaches(ElementType type, const std::vector<std::int64_t> &sizes,
                       bool isWarm) {
  std::mt19937_64 random(1);
  Cache first = allocate(type, sizes);
  std::uniform_int_distribution<int> integers(-127, 127);
  for (Buffer *input : {&first.key, &first.value})
    if (type == ElementType::i8)
      input->fill([&](std::int64_t) { return double(integers(random)); });
    else
      input->fillNormal(random);
  for (Buffer &scales : first.scales)
    scales.fill([](std::int64_t) { return 1.0 / std::sqrt(127.0 * 128 / 3); });
  std::size_t bytes = first.key.bytes() + first.value.bytes();
  std::size_t count = 2;
  if (!isWarm)
    count = std::max(count, (getColdBytes() + bytes - 1) / bytes);
  caches.reserve(count);
  caches.push_back(std::move(first));
  while (caches.size() < count) {
    Cache &cache = caches.emplace_back(allocate(type, sizes));
    cache.key.copyFrom(caches.front().key);
    cache.value.copyFrom(caches.front().value);
    for (std::size_t i = 0; i < cache.scales.size(); ++i)
      cache.scales[i].copyFrom(caches.front().scales[i]);
  }
}

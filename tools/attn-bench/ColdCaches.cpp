//===- ColdCaches.cpp - Keys and values that are not in a cache -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/ColdCaches.h"

#include <unistd.h>

#include <algorithm>

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

ColdCaches::ColdCaches(ElementType type,
                       const std::vector<std::int64_t> &sizes) {
  std::mt19937_64 random(1);
  Cache first{{type, sizes}, {type, sizes}};
  for (Buffer *input : {&first.key, &first.value})
    input->fillNormal(random);
  std::size_t bytes = first.key.bytes() + first.value.bytes();
  std::size_t count =
      std::max<std::size_t>((getColdBytes() + bytes - 1) / bytes, 2);
  caches.reserve(count);
  caches.push_back(std::move(first));
  while (caches.size() < count) {
    Cache &cache =
        caches.emplace_back(Buffer(type, sizes), Buffer(type, sizes));
    cache.key.copyFrom(caches.front().key);
    cache.value.copyFrom(caches.front().value);
  }
}

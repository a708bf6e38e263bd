//===- MemoryCache.cpp - Kernels that an engine remembers -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/MemoryCache.h"

#include <algorithm>

using namespace attn;
using namespace attn::jit;

/// Makes `code` the one asked for last. Gives the one that is not among the
/// last ones any more, which may be freed, but not under the lock.
CodePtr MemoryCache::remember(CodePtr code) {
  CodePtr dropped;
  auto place = std::find(recent.begin(), recent.end(), code);
  if (place == recent.end() && recent.size() == numRecent)
    place = recent.begin();
  if (place != recent.end()) {
    dropped = std::move(*place);
    recent.erase(place);
  }
  recent.push_back(std::move(code));
  return dropped;
}

/// Drops entries of what has been freed, when there may be as many of them as
/// of others.
void MemoryCache::forgetFreed() {
  if (entries.size() < forgetAt)
    return;
  std::erase_if(entries, [](const auto &entry) {
    return entry.second.code.expired() && !entry.second.pending.valid();
  });
  forgetAt = 2 * std::max(entries.size(), numRecent);
}

Expected<CodePtr>
MemoryCache::get(const std::string &key,
                 llvm::function_ref<Expected<CodePtr>()> build) {
  CodePtr dropped; // Before the lock: freed after it.
  std::promise<Expected<CodePtr>> promise;
  std::shared_future<Expected<CodePtr>> pending;
  {
    std::lock_guard lock(mutex);
    Entry &entry = entries[key];
    if (CodePtr code = entry.code.lock()) {
      dropped = remember(code);
      return code;
    }
    pending = entry.pending;
    if (!pending.valid())
      entry.pending = promise.get_future().share();
  }
  if (pending.valid())
    return pending.get();
  Expected<CodePtr> code = build();
  {
    std::lock_guard lock(mutex);
    if (code) {
      entries[key] = {.code = *code, .pending = {}};
      dropped = remember(*code);
      forgetFreed();
    } else {
      entries.erase(key);
    }
  }
  promise.set_value(code);
  return code;
}

//===- ProxyFences.cpp - What products of warpgroups may read -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/ProxyFences.h"

#include <algorithm>

using namespace attn::emulator;

void ProxyFences::reset(std::size_t numThreads, std::size_t numWarps) {
  times.assign(numThreads, {});
  known.assign(numWarps, {});
}

void ProxyFences::fence(unsigned thread, unsigned warp, VectorClocks &clocks) {
  times[thread].push_back(clocks.now(thread));
  // The thread's time goes on, so that what it does next is after the fence.
  clocks.release(thread, known[warp]);
}

bool ProxyFences::isVisible(const Races::Access &store, unsigned reader,
                            unsigned warp, const VectorClocks &clocks) const {
  const VectorClocks::Clock &ofWarp = known[warp];
  if (store.thread < ofWarp.size() && ofWarp[store.thread] >= store.time)
    return true;
  if (store.thread >= times.size()) // An agent makes no fences.
    return false;
  const std::vector<VectorClocks::Time> &fences = times[store.thread];
  auto next = std::lower_bound(fences.begin(), fences.end(), store.time);
  return next != fences.end() && clocks.knows(reader, store.thread, *next + 1);
}

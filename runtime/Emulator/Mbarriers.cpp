//===- Mbarriers.cpp - Barriers in shared memory --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Mbarriers.h"

using namespace attn::emulator;

bool Mbarrier::arrive(unsigned count) {
  missing -= count;
  if (missing != 0)
    return false;
  missing = expected;
  ++phase;
  VectorClocks::join(completed, arriving);
  arriving.clear();
  return true;
}

Mbarrier &Mbarriers::init(std::size_t offset, unsigned count,
                          const char *site) {
  Mbarrier &mbarrier = all[offset];
  mbarrier.site = site;
  mbarrier.expected = mbarrier.missing = count;
  return mbarrier;
}

Mbarrier *Mbarriers::find(std::size_t offset) {
  auto found = all.find(offset);
  return found == all.end() ? nullptr : &found->second;
}

const Mbarrier *Mbarriers::findAnyOverlap(std::size_t offset,
                                          std::size_t bytes) const {
  auto next = all.lower_bound(offset + bytes);
  if (next == all.begin())
    return nullptr;
  --next;
  return next->first + Mbarrier::bytes > offset ? &next->second : nullptr;
}

//===- Races.cpp - Accesses to shared memory without an order -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Races.h"

using namespace attn::emulator;

void Races::reset(std::size_t numThreads, std::size_t bytes) {
  clocks.reset(numThreads);
  cells.assign(bytes, {});
  atomics.clear();
}

const Races::Access *Races::load(unsigned thread, std::size_t offset,
                                 std::size_t count, const char *site) {
  Access access = {site, clocks.now(thread), thread};
  for (std::size_t i = offset; i < offset + count; ++i) {
    if (!isOrdered(cells[i].store, thread))
      return &cells[i].store;
    cells[i].load = access;
  }
  return nullptr;
}

const Races::Access *Races::store(unsigned thread, std::size_t offset,
                                  std::size_t count, const char *site) {
  for (std::size_t i = offset; i < offset + count; ++i) {
    if (!isOrdered(cells[i].store, thread))
      return &cells[i].store;
    if (!isOrdered(cells[i].load, thread))
      return &cells[i].load;
  }
  finishStore(thread, offset, count, site);
  return nullptr;
}

void Races::finishStore(unsigned thread, std::size_t offset, std::size_t count,
                        const char *site) {
  Access access = {site, clocks.now(thread), thread};
  for (std::size_t i = offset; i < offset + count; ++i)
    cells[i] = {access, {}};
}

void Races::updateAtomically(unsigned thread) {
  clocks.acquire(thread, atomics);
  clocks.release(thread, atomics);
}

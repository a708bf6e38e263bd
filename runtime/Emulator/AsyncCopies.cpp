//===- AsyncCopies.cpp - The asynchronous copies of a thread --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/AsyncCopies.h"

#include <cstring>
#include <utility>

using namespace attn::emulator;

void AsyncCopies::arrive(Issued &issued) {
  if (std::exchange(issued.hasArrived, true))
    return;
  const Copy &copy = issued.copy;
  std::memcpy(copy.target, copy.source, copy.sourceBytes);
  std::memset(copy.target + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
}

void AsyncCopies::commit() { groups.push_back(std::exchange(open, {})); }

void AsyncCopies::wait(std::size_t count, const Done &done) {
  for (; groups.size() > count; groups.pop_front())
    for (Issued &issued : groups.front()) {
      arrive(issued);
      done(issued.copy);
    }
}

Mbarrier &AsyncCopies::finishTracked(const Done &done) {
  Tracked next = tracked.front();
  tracked.pop_front();
  auto finish = [&](Group &group) {
    std::erase_if(group, [&](Issued &issued) {
      if (issued.number >= next.numCopies)
        return false;
      arrive(issued);
      done(issued.copy);
      return true;
    });
  };
  for (Group &group : groups)
    finish(group);
  finish(open);
  return *next.mbarrier;
}

void AsyncCopies::arriveEarly(std::size_t choice) {
  std::size_t group = choice % (groups.size() + 1);
  Group &chosen = group < groups.size() ? groups[group] : open;
  if (!chosen.empty())
    arrive(chosen[choice / (groups.size() + 1) % chosen.size()]);
}

void AsyncCopies::clear() {
  open.clear();
  groups.clear();
  tracked.clear();
}

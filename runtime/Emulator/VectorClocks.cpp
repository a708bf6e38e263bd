//===- VectorClocks.cpp - What threads know of each other -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/VectorClocks.h"

#include <algorithm>
#include <numeric>

using namespace attn::emulator;

void VectorClocks::reset(std::size_t numThreads) {
  clocks.assign(numThreads, Clock(numThreads, 0));
  for (std::size_t i = 0; i < numThreads; ++i)
    clocks[i][i] = 1;
  owners.resize(numThreads);
  std::iota(owners.begin(), owners.end(), 0);
}

unsigned VectorClocks::addAgent(unsigned owner) {
  for (Clock &clock : clocks)
    clock.push_back(0);
  clocks.emplace_back(clocks.size() + 1, 0).back() = 1;
  owners.push_back(owner);
  return unsigned(owners.size() - 1);
}

void VectorClocks::join(Clock &clock, const Clock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

void VectorClocks::release(unsigned thread, Clock &clock) {
  join(clock, clocks[thread]);
  advance(thread);
}

void VectorClocks::acquire(unsigned thread, const Clock &clock) {
  join(clocks[thread], clock);
}

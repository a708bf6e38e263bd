//===- VectorClocks.cpp - What threads know of each other -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/VectorClocks.h"

#include <algorithm>

using namespace attn::emulator;

void VectorClocks::reset(std::size_t numThreads) {
  clocks.assign(numThreads, Clock(numThreads, 0));
  for (std::size_t i = 0; i < numThreads; ++i)
    clocks[i][i] = 1;
}

void VectorClocks::release(unsigned thread, Clock &clock) {
  Clock &known = clocks[thread];
  clock.resize(known.size());
  for (std::size_t i = 0; i < known.size(); ++i)
    clock[i] = std::max(clock[i], known[i]);
  ++known[thread];
}

void VectorClocks::acquire(unsigned thread, const Clock &clock) {
  Clock &known = clocks[thread];
  for (std::size_t i = 0; i < clock.size(); ++i)
    known[i] = std::max(known[i], clock[i]);
}

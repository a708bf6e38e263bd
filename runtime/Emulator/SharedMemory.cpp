//===- SharedMemory.cpp - The shared memory of a block --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/SharedMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace attn::emulator;

SharedMemory::SharedMemory()
    : window(static_cast<char *>(std::aligned_alloc(windowSize, windowSize))) {}

SharedMemory::~SharedMemory() { std::free(window); }

bool SharedMemory::reset(std::size_t newBytes) {
  if (!window)
    return false;
  bytes = newBytes;
  // NaNs of every type of floats.
  std::memset(window, 0xFF, bytes);
  states.assign(bytes, State::unwritten);
  return true;
}

bool SharedMemory::isWritten(std::size_t offset, std::size_t count) const {
  auto begin = states.begin() + std::ptrdiff_t(offset);
  return std::all_of(begin, begin + std::ptrdiff_t(count),
                     [](State state) { return state == State::written; });
}

bool SharedMemory::isInFlight(std::size_t offset, std::size_t count) const {
  auto begin = states.begin() + std::ptrdiff_t(offset);
  return std::any_of(begin, begin + std::ptrdiff_t(count),
                     [](State state) { return state == State::inFlight; });
}

void SharedMemory::setState(std::size_t offset, std::size_t count,
                            State state) {
  std::fill_n(states.begin() + std::ptrdiff_t(offset), count, state);
}

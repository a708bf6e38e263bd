//===- GlobalMemory.cpp - The buffers that a launch may use ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/GlobalMemory.h"

#include <cstdint>

using namespace attn::emulator;

Place attn::emulator::findPlace(const std::vector<Buffer> &buffers,
                                const void *address, std::size_t bytes) {
  Place closest = {nullptr, 0, false};
  std::uintptr_t closestDistance = 0;
  auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Buffer &buffer : buffers) {
    auto begin = reinterpret_cast<std::uintptr_t>(buffer.data);
    // Wraps to a huge number before the buffer.
    std::uintptr_t offset = at - begin;
    if (offset <= buffer.bytes && bytes <= buffer.bytes - offset)
      return {&buffer, std::ptrdiff_t(offset), true};
    std::uintptr_t distance =
        at < begin ? begin - at : at - begin - buffer.bytes;
    if (at >= begin && offset <= buffer.bytes)
      distance = 0; // It begins inside.
    if (!closest.buffer || distance < closestDistance) {
      closest = {&buffer, std::ptrdiff_t(offset), false};
      closestDistance = distance;
    }
  }
  return closest;
}

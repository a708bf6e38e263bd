//===- Stream.cpp - Measures how fast memory is read ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Stream.h"
#include "tools/attn-bench/ProcessorTime.h"

#include <algorithm>

using namespace attn::bench;

double StreamMeter::measure(const std::byte *first, const std::byte *second,
                            std::size_t bytes) {
  std::size_t part = bytes / team.size() / streamStep * streamStep;
  team.run([&](unsigned index) {
    std::size_t begin = index * part;
    volatile std::uint64_t result; // Or nothing would have to be read.
    // While the thread has a processor: a stream that counted the time of
    // others would flatter the kernel.
    double busy = getThreadSeconds(), start = getSeconds(CLOCK_MONOTONIC);
    result = loop.run(first + begin, second + begin, part);
    double elapsed = getSeconds(CLOCK_MONOTONIC) - start;
    (void)result;
    seconds[index] = std::min(elapsed, getThreadSeconds() - busy);
  });
  return 2 * double(part) * team.size() / *std::ranges::max_element(seconds);
}

//===- Peak.cpp - Measures the peak of a machine --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/ProcessorTime.h"

#include <algorithm>
#include <chrono>
#include <numeric>

using namespace attn;
using namespace attn::bench;

/// FLOP per second of one thread, while it has a processor: where others run
/// too, a peak that counted their time would flatter the kernel.
static double runLoop(const PeakLoop &loop, double seconds) {
  using Clock = std::chrono::steady_clock;
  // Some microseconds between looks at the clock.
  constexpr std::int64_t step = 4096;
  std::chrono::duration<double> elapsed{};
  std::int64_t iterations = 0;
  volatile float result; // Or nothing would have to be computed.
  double busy = getThreadSeconds();
  Clock::time_point start = Clock::now();
  do {
    result = loop.run(step);
    iterations += step;
    elapsed = Clock::now() - start;
  } while (elapsed.count() < seconds);
  busy = getThreadSeconds() - busy;
  (void)result;
  return double(iterations) * loop.flopsPerIteration /
         std::min(elapsed.count(), busy);
}

static PeakLoop pickFastest(const std::vector<PeakLoop> &loops) {
  PeakLoop fastest = loops.front();
  double highest = 0;
  // In turns, until the clock has settled.
  for (int turn = 0; turn < 10; ++turn)
    for (const PeakLoop &loop : loops)
      if (double rate = runLoop(loop, 300e-6); rate > highest) {
        highest = rate;
        fastest = loop;
      }
  return fastest;
}

PeakMeter::PeakMeter(ElementType type, unsigned threads)
    : loop(pickFastest(getPeakLoops(type))), team(threads), rates(threads) {}

double PeakMeter::measure(double seconds) {
  team.run([&](unsigned index) { rates[index] = runLoop(loop, seconds); });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

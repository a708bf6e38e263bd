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

PeakMeter::PeakMeter(ElementType type, unsigned threadCount)
    : loop(pickFastest(getPeakLoops(type))), rates(threadCount) {
  for (unsigned index = 1; index < threadCount; ++index)
    threads.emplace_back([this, index] { work(index); });
}

PeakMeter::~PeakMeter() {
  stopping = true;
  ++round;
  round.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

/// Runs the loop when all threads have come, so that they share what they have
/// to share: power, and a clock.
double PeakMeter::runTogether() {
  ++arrived;
  while (arrived < rates.size())
    std::this_thread::yield();
  return runLoop(loop, duration);
}

void PeakMeter::work(unsigned index) {
  for (unsigned seen = 0;; ++seen) {
    round.wait(seen);
    if (stopping)
      return;
    rates[index] = runTogether();
    ++finished;
  }
}

double PeakMeter::measure(double seconds) {
  duration = seconds;
  arrived = 0;
  finished = 0;
  ++round;
  round.notify_all();
  rates[0] = runTogether();
  while (finished < threads.size())
    std::this_thread::yield();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

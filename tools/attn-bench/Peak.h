//===- Peak.h - Measures the peak of a machine ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PEAK_H
#define ATTN_TOOLS_ATTN_BENCH_PEAK_H

#include "tools/attn-bench/PeakLoops.h"

#include <atomic>
#include <thread>

namespace attn::bench {

/// Measures the peak of an element type on a number of threads at once. A
/// machine's clock changes from moment to moment and with what its vector units
/// do, so a peak is only good for a kernel that runs right before or after it:
/// measure briefly, and often.
class PeakMeter {
public:
  /// Starts `threads - 1` threads, which sleep between measurements, and picks
  /// the fastest loop.
  PeakMeter(ElementType type, unsigned threads);
  ~PeakMeter();
  PeakMeter(const PeakMeter &) = delete;
  PeakMeter &operator=(const PeakMeter &) = delete;

  /// FLOP per second of all threads together, over about `seconds`.
  double measure(double seconds);

  const char *loopName() const { return loop.name; }

private:
  double runTogether();
  void work(unsigned index);

  PeakLoop loop;
  double duration = 0;
  std::atomic<unsigned> round = 0; ///< Threads wait for it to change.
  std::atomic<unsigned> arrived = 0, finished = 0;
  std::atomic<bool> stopping = false;
  std::vector<double> rates; ///< Of each thread, in the last round.
  std::vector<std::thread> threads;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_PEAK_H

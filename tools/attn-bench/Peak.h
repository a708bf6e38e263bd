//===- Peak.h - Measures the peak of a machine ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PEAK_H
#define ATTN_TOOLS_ATTN_BENCH_PEAK_H

#include "tools/attn-bench/PeakLoops.h"
#include "tools/attn-bench/ThreadTeam.h"

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

  /// FLOP per second of all threads together, over about `seconds`.
  double measure(double seconds);

  const char *loopName() const { return loop.name; }

private:
  PeakLoop loop;
  ThreadTeam team;
  std::vector<double> rates; ///< Of each thread.
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_PEAK_H

//===- Samples.h - Timed calls and what they say together ----- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_SAMPLES_H
#define ATTN_TOOLS_ATTN_BENCH_SAMPLES_H

#include "attn/error.h"
#include "tools/attn-bench/ProcessorTime.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace attn::bench {

struct Call {
  double seconds;
  double processors; ///< That worked, on average.
};

/// Times a call on so many threads. `run` gives its seconds, or an error.
template <typename Run> Expected<Call> timeCall(unsigned threads, Run run) {
  // Threads of a pool may still look for work when only one is wanted.
  const BusyClock clock(/*ofAllThreads=*/threads > 1);
  double start = getSeconds(CLOCK_MONOTONIC), busy = clock.getSeconds();
  Expected<double> seconds = run();
  double elapsed = getSeconds(CLOCK_MONOTONIC) - start;
  busy = clock.getSeconds() - busy;
  if (!seconds)
    return seconds.error();
  // More if the thread was stopped between two clocks.
  return Call{*seconds, std::min(busy / elapsed, double(threads))};
}

/// A call has fewer processors than others when another process takes one.
/// Keeps those that had nearly as many as the best of them, which is at least
/// one.
template <typename Sample>
std::vector<Sample> keepQuiet(const std::vector<Sample> &samples) {
  double most = 0;
  for (const Sample &sample : samples)
    most = std::max(most, sample.processors);
  std::vector<Sample> quiet;
  std::ranges::copy_if(
      samples, std::back_inserter(quiet),
      [&](const Sample &sample) { return sample.processors >= 0.97 * most; });
  return quiet;
}

/// 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_SAMPLES_H

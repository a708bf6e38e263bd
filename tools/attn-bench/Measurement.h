//===- Measurement.h - Measures an attention kernel -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_MEASUREMENT_H
#define ATTN_TOOLS_ATTN_BENCH_MEASUREMENT_H

#include "tools/attn-bench/Workload.h"

namespace attn::bench {

/// What a kernel's speed is compared with: another kernel in the same process,
/// run in between.
struct Baseline {
  std::string counter; ///< Name of the quotient of the speeds.
  AttentionCase attention;
  ElementType type;
  unsigned threads;
};

struct Measurement {
  AttentionCase attention;
  ElementType type;
  unsigned threads;
  std::vector<Baseline> baselines;
};

/// Registers the benchmark "<family>/<case>/<type>/threads:<n>". Time is that
/// of a call. Counters, all medians over the repetitions:
///
/// - `gflops`: 10^9 FLOP per second.
/// - `fraction_of_peak`: that speed as a share of the peak of the type on as
///   many threads, measured right before and after each call.
/// - `peak_gflops`: that peak.
/// - `processors`: how many worked, on average. When it is less than the
/// threads,
///   another process had one: measure again when the machine is quiet.
/// - `compile_ms`: what compiling cost, once.
/// - one for each baseline.
void registerMeasurement(const std::string &family,
                         const Measurement &measurement,
                         const Options &options);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_MEASUREMENT_H

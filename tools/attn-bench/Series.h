//===- Series.h - Benchmarks that keep all their samples ------ -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_SERIES_H
#define ATTN_TOOLS_ATTN_BENCH_SERIES_H

#include "attn/element_type.h"
#include "attn/error.h"

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>

namespace attn::bench {

/// The samples of one benchmark. Google Benchmark calls a benchmark several
/// times to find out how many iterations it needs; the samples of all calls
/// count.
class Series {
public:
  virtual ~Series() = default;
  /// Takes one more. Gives the seconds of the call that is measured.
  virtual Expected<double> sample() = 0;
  /// Sets the counters.
  virtual void report(benchmark::State &state) const = 0;
};

/// Registers the benchmark "<family>/<case>/<type>/threads:<n>". Its series is
/// created when it runs and dropped when another one does.
void registerSeries(
    const std::string &benchmarkCase, ElementType type, unsigned threads,
    const std::function<Expected<std::unique_ptr<Series>>()> &create);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_SERIES_H

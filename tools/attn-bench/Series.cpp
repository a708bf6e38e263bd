//===- Series.cpp - Benchmarks that keep all their samples ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Series.h"

#include "tools/attn-bench/Failure.h"

using namespace attn;
using namespace attn::bench;

static void
measure(benchmark::State &state, const std::string &name,
        const std::function<Expected<std::unique_ptr<Series>>()> &create) {
  static std::string currentName;
  static std::unique_ptr<Series> current;
  if (currentName != name) {
    current.reset();
    Expected<std::unique_ptr<Series>> series = create();
    if (!series)
      return fail(state, series.error());
    current = std::move(*series);
    currentName = name;
    // The clock and the caches settle, and everything that is sampled only now
    // and then gets a sample.
    for (int i = 0; i < 3; ++i)
      if (Expected<double> seconds = current->sample(); !seconds)
        return fail(state, seconds.error());
  }
  while (state.KeepRunning()) {
    if (Expected<double> seconds = current->sample())
      state.SetIterationTime(*seconds);
    else
      return fail(state, seconds.error());
  }
  current->report(state);
}

void bench::registerSeries(
    const std::string &benchmarkCase, ElementType type, unsigned threads,
    const std::function<Expected<std::unique_ptr<Series>>()> &create) {
  std::string name = benchmarkCase + "/" + std::string(nameOf(type)) +
                     "/threads:" + std::to_string(threads);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State &state) { measure(state, name, create); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

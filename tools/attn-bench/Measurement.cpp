//===- Measurement.cpp - Measures an attention kernel ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Measurement.h"

#include "tools/attn-bench/Failure.h"
#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/ProcessorTime.h"

#include <algorithm>
#include <thread>

using namespace attn;
using namespace attn::bench;

static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

namespace {

struct Call {
  double speed;      ///< FLOP per second.
  double processors; ///< That worked, on average.
};

/// The samples of one benchmark. Google Benchmark calls a benchmark several
/// times to find out how many iterations it needs; the samples of all calls
/// count.
class Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const Measurement &measurement, const Options &options);

  /// Runs the kernel once, with the peak before and after it. Gives its
  /// seconds.
  Expected<double> sample();
  void report(benchmark::State &state) const;

private:
  Series(const Measurement &measurement, Workload workload)
      : threads(measurement.threads), workload(std::move(workload)),
        peak(measurement.type, measurement.threads) {}
  Status sampleBaselines(const Call &call);

  /// Of speeds, with the processors that worked.
  struct Quotient {
    double value, processors;
  };
  struct Comparison {
    std::string counter;
    unsigned threads;
    Workload workload;
    std::vector<Quotient> quotients;
  };

  unsigned threads;
  Workload workload;
  PeakMeter peak;
  std::vector<Comparison> comparisons;

  /// FLOP per second, of the kernel and of the peak.
  struct Sample {
    double speed, peak;
    double processors; ///< That worked, on average.
  };
  std::vector<Sample> samples;
};

} // namespace

static Expected<Call> timeCall(const Workload &workload, unsigned threads) {
  // Threads of a pool may still look for work when only one is wanted.
  auto *getBusySeconds = threads == 1 ? getThreadSeconds : getProcessSeconds;
  double busy = getBusySeconds();
  Expected<double> seconds = workload.run();
  busy = getBusySeconds() - busy;
  if (!seconds)
    return seconds.error();
  return Call{workload.flops() / *seconds, busy / *seconds};
}

Expected<std::unique_ptr<Series>> Series::create(const Measurement &measurement,
                                                 const Options &options) {
  Expected<Workload> workload = Workload::create(
      measurement.attention, measurement.type, measurement.threads, options);
  if (!workload)
    return workload.error();
  std::unique_ptr<Series> series(new Series(measurement, std::move(*workload)));
  for (const Baseline &baseline : measurement.baselines) {
    Expected<Workload> other = Workload::create(
        baseline.attention, baseline.type, baseline.threads, options);
    if (!other)
      return Error{baseline.counter + ": " + other.error().message, {}};
    series->comparisons.push_back(
        {baseline.counter, baseline.threads, std::move(*other), {}});
  }
  return series;
}

Expected<double> Series::sample() {
  // Long enough to mean something beside the kernel, short enough to share its
  // clock, which jumps within microseconds.
  double burst = 100e-6;
  if (!samples.empty())
    burst =
        std::clamp(workload.flops() / samples.back().speed / 20, 50e-6, 5e-3);
  double before = peak.measure(burst);
  Expected<Call> call = timeCall(workload, threads);
  if (!call)
    return call.error();
  double after = peak.measure(burst);
  samples.push_back({call->speed, (before + after) / 2, call->processors});

  // Not each time, because other kernels leave other data in the caches; the
  // median does not see it then.
  if (samples.size() % 3 == 2)
    if (Status status = sampleBaselines(*call); !status)
      return status.error();
  return workload.flops() / call->speed;
}

Status Series::sampleBaselines(const Call &call) {
  for (Comparison &comparison : comparisons) {
    const Workload &other = comparison.workload;
    if (Expected<double> cold = other.run(); !cold)
      return cold.error();
    Expected<Call> otherCall = timeCall(other, comparison.threads);
    if (!otherCall)
      return otherCall.error();
    // What share of the threads had a processor, the smaller of both.
    double busy = std::min(call.processors / threads,
                           otherCall->processors / comparison.threads);
    comparison.quotients.push_back(
        {call.speed / otherCall->speed, busy * threads});
  }
  return {};
}

/// A call has fewer processors than others when another process takes one.
/// Keeps those that had nearly as many as the best of them, which is at least
/// one.
template <typename Timed>
static std::vector<Timed> keepQuiet(const std::vector<Timed> &calls) {
  double most = 0;
  for (const Timed &call : calls)
    most = std::max(most, call.processors);
  std::vector<Timed> quiet;
  std::ranges::copy_if(
      calls, std::back_inserter(quiet),
      [&](const Timed &call) { return call.processors >= 0.97 * most; });
  return quiet;
}

void Series::report(benchmark::State &state) const {
  std::vector<double> speeds, peaks, fractions, processors;
  for (const Sample &sample : samples)
    processors.push_back(sample.processors);
  for (const Sample &sample : keepQuiet(samples)) {
    speeds.push_back(sample.speed * 1e-9);
    peaks.push_back(sample.peak * 1e-9);
    fractions.push_back(sample.speed / sample.peak);
  }
  state.counters["gflops"] = median(speeds);
  state.counters["fraction_of_peak"] = median(fractions);
  state.counters["peak_gflops"] = median(peaks);
  state.counters["processors"] = median(processors);
  state.counters["compile_ms"] = workload.compileStats().totalMs;
  for (const Comparison &comparison : comparisons) {
    std::vector<double> quotients;
    for (const Quotient &quotient : keepQuiet(comparison.quotients))
      quotients.push_back(quotient.value);
    state.counters[comparison.counter] = median(quotients);
  }
  state.SetLabel("peak: " + std::string(peak.loopName()));
}

static void measure(benchmark::State &state, const std::string &name,
                    const Measurement &measurement, const Options &options) {
  // Kept from call to call of one benchmark, dropped by the next.
  static std::string currentName;
  static std::unique_ptr<Series> current;
  if (currentName != name) {
    current.reset();
    Expected<std::unique_ptr<Series>> series =
        Series::create(measurement, options);
    if (!series)
      return fail(state, series.error());
    current = std::move(*series);
    currentName = name;
    // The clock and the caches settle, and baselines get a sample.
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

void bench::registerMeasurement(const std::string &family,
                                const Measurement &measurement,
                                const Options &options) {
  std::string name = family + "/" + measurement.attention.name + "/" +
                     std::string(nameOf(measurement.type)) +
                     "/threads:" + std::to_string(measurement.threads);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State &state) {
                                 measure(state, name, measurement, options);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

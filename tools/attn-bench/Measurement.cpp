//===- Measurement.cpp - Measures an attention kernel ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Measurement.h"

#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <algorithm>

using namespace attn;
using namespace attn::bench;

namespace {

/// With the peak around each call, and with other kernels in between.
class MeasuredSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const Measurement &measurement, const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  MeasuredSeries(const Measurement &measurement, Workload workload)
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

static Expected<Call> timeWorkload(const Workload &workload, unsigned threads) {
  return timeCall(threads, [&] { return workload.run(); });
}

Expected<std::unique_ptr<Series>>
MeasuredSeries::create(const Measurement &measurement, const Options &options) {
  Expected<Workload> workload = Workload::create(
      measurement.attention, measurement.type, measurement.threads, options);
  if (!workload)
    return workload.error();
  std::unique_ptr<MeasuredSeries> series(
      new MeasuredSeries(measurement, std::move(*workload)));
  // What it is compared with is as planned.
  Options planned = options;
  planned.tuningSeconds = 0;
  std::vector<Baseline> baselines = measurement.baselines;
  if (options.tuningSeconds > 0)
    baselines.push_back({"vs_planned", measurement.attention, measurement.type,
                         measurement.threads});
  for (const Baseline &baseline : baselines) {
    Expected<Workload> other = Workload::create(
        baseline.attention, baseline.type, baseline.threads, planned);
    if (!other)
      return Error{baseline.counter + ": " + other.error().message, {}};
    series->comparisons.push_back(
        {baseline.counter, baseline.threads, std::move(*other), {}});
  }
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> MeasuredSeries::sample() {
  // Long enough to mean something beside the kernel, short enough to share its
  // clock, which jumps within microseconds.
  double burst = 100e-6;
  if (!samples.empty())
    burst =
        std::clamp(workload.flops() / samples.back().speed / 20, 50e-6, 5e-3);
  double before = peak.measure(burst);
  Expected<Call> call = timeWorkload(workload, threads);
  if (!call)
    return call.error();
  double after = peak.measure(burst);
  samples.push_back({workload.flops() / call->seconds, (before + after) / 2,
                     call->processors});

  // Not each time, because other kernels leave other data in the caches; the
  // median does not see it then.
  if (samples.size() % 3 == 2)
    if (Status status = sampleBaselines(*call); !status)
      return status.error();
  return call->seconds;
}

Status MeasuredSeries::sampleBaselines(const Call &call) {
  for (Comparison &comparison : comparisons) {
    const Workload &other = comparison.workload;
    if (Expected<double> cold = other.run(); !cold)
      return cold.error();
    Expected<Call> otherCall = timeWorkload(other, comparison.threads);
    if (!otherCall)
      return otherCall.error();
    // What share of the threads had a processor, the smaller of both.
    double busy = std::min(call.processors / threads,
                           otherCall->processors / comparison.threads);
    comparison.quotients.push_back(
        {workload.flops() / call.seconds / (other.flops() / otherCall->seconds),
         busy * threads});
  }
  return {};
}

void MeasuredSeries::report(benchmark::State &state) const {
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
  std::string tuned = workload.tuned();
  state.SetLabel("peak: " + std::string(peak.loopName()) +
                 (tuned.empty() ? "" : ", " + tuned));
}

void bench::registerMeasurement(const std::string &family,
                                const Measurement &measurement,
                                const Options &options) {
  registerSeries(family + "/" + measurement.attention.name, measurement.type,
                 measurement.threads,
                 [=] { return MeasuredSeries::create(measurement, options); });
}

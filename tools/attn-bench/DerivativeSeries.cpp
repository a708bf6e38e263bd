//===- DerivativeSeries.cpp - A derivative beside what it is of -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DerivativeSeries.h"
#include "runtime/Reference/Values.h"

#include <numeric>

namespace attn::bench {

double dot(const TensorView &x, const TensorView &y) {
  std::vector<double> a = *reference::toDoubles("", x),
                      b = *reference::toDoubles("", y);
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Status DerivativeSeries::runBoth() const {
  if (Expected<double> run = runForward(); !run)
    return run.error();
  if (Expected<double> run = runDerivative(); !run)
    return run.error();
  return {};
}

Expected<double> DerivativeSeries::sample() {
  double burst = 1e-3;
  double before = peak.measure(burst);
  Expected<Call> call = timeCall(threads, [&] { return runDerivative(); });
  if (!call)
    return call.error();
  double after = peak.measure(burst);
  samples.push_back({work.derivative / call->seconds, (before + after) / 2,
                     call->processors});
  Expected<Call> other = timeCall(threads, [&] { return runForward(); });
  if (!other)
    return other.error();
  quotients.push_back(work.derivative / call->seconds * other->seconds /
                      work.forward);
  times.push_back(call->seconds / other->seconds);
  return call->seconds;
}

void DerivativeSeries::report(benchmark::State &state) const {
  std::vector<double> fractions, speeds, processors;
  for (const Sample &sample : samples)
    processors.push_back(sample.processors);
  for (const Sample &sample : keepQuiet(samples)) {
    fractions.push_back(sample.speed / sample.peak);
    speeds.push_back(sample.speed * 1e-9);
  }
  state.counters["gflops"] = median(speeds);
  state.counters["fraction_of_peak"] = median(fractions);
  state.counters["processors"] = median(processors);
  state.counters["vs_forward"] = median(quotients);
  state.counters["times_forward"] = median(times);
  state.counters["compile_ms"] = derivative.stats().totalMs;
  state.SetLabel("peak: " + std::string(peak.loopName()));
}

} // namespace attn::bench

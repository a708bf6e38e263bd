//===- DerivativeSeries.h - A derivative beside what it is of ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_DERIVATIVESERIES_H
#define ATTN_TOOLS_ATTN_BENCH_DERIVATIVESERIES_H

#include "tools/attn-bench/Kernels.h"
#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

namespace attn::bench {

/// Floating-point operations of a call.
struct DerivativeWork {
  double forward, derivative;
};

/// Runs a derivative and the kernel that it is of in turns. Counters, medians
/// over the repetitions:
///
/// - `fraction_of_peak`: of the derivative's operations.
/// - `vs_forward`: that, divided by the other kernel's.
/// - `times_forward`: the time, divided by the other kernel's.
/// - `compile_ms`: what compiling the derivative cost, once.
class DerivativeSeries : public Series {
public:
  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

protected:
  DerivativeSeries(ElementType type, unsigned threads, const Kernel &forward,
                   const Kernel &derivative, DerivativeWork work)
      : forward(forward), derivative(derivative), threads(threads), work(work),
        peak(type, threads) {}

  /// Runs each kernel once.
  Status runBoth() const;

  /// Where arguments and results lie.
  Kernel forward, derivative;
  std::vector<Argument> arguments, ofDerivative;
  std::vector<TensorView> outputs, results;

private:
  Expected<double> runForward() const {
    return timeKernel(forward, arguments, outputs);
  }
  Expected<double> runDerivative() const {
    return timeKernel(derivative, ofDerivative, results);
  }

  unsigned threads;
  DerivativeWork work;
  PeakMeter peak;
  struct Sample {
    double speed, peak, processors;
  };
  std::vector<Sample> samples;
  std::vector<double> quotients; ///< Of shares of the peak.
  std::vector<double> times;     ///< As multiples of the other kernel's.
};

/// The sum of products of two tensors.
double dot(const TensorView &x, const TensorView &y);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_DERIVATIVESERIES_H

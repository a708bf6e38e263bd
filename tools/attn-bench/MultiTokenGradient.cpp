//===- MultiTokenGradient.cpp - Gradients of multi-token attention --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of query, key, value and the stages. Their work is five
// products where the attention has two, and three times that of each stage: it
// is computed again, goes back, and has a gradient of its own. Counters are
// those of Gradient.cpp.
//
//===----------------------------------------------------------------------===//

#include "attn/gradient.h"
#include "runtime/Reference/Values.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/MultiTokenCase.h"
#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <algorithm>
#include <cmath>

namespace attn::bench {

namespace {

class MultiTokenGradientSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const MultiTokenCase &attention, ElementType type, unsigned threads,
         const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  MultiTokenGradientSeries(const MultiTokenCase &attention, ElementType type,
                           unsigned threads, const Kernel &forward,
                           const Kernel &backward);
  Expected<double> runForward() const {
    TensorView result = output->view();
    return timeKernel(forward, arguments, {&result, 1});
  }
  Expected<double> runBackward() const {
    return timeKernel(backward, withGradient, gradients);
  }
  Status check() const;

  MultiTokenCase attention;
  unsigned threads;
  Kernel forward, backward;
  PeakMeter peak;
  std::vector<Buffer> inputs, results;
  std::optional<Buffer> output, outputGradient;
  std::vector<Argument> arguments, withGradient;
  std::vector<TensorView> gradients;

  struct Sample {
    double speed, peak, processors;
  };
  std::vector<Sample> samples;
  std::vector<double> quotients; ///< Of speeds.
};

} // namespace

MultiTokenGradientSeries::MultiTokenGradientSeries(
    const MultiTokenCase &attention, ElementType type, unsigned threads,
    const Kernel &forward, const Kernel &backward)
    : attention(attention), threads(threads), forward(forward),
      backward(backward), peak(type, threads),
      inputs(createInputs(attention, type)) {
  std::mt19937_64 random(2);
  output.emplace(type, attention.rowSizes()).fillNormal(random);
  outputGradient.emplace(type, attention.rowSizes()).fillNormal(random);
  for (const Buffer &input : inputs) {
    TensorView view = input.view();
    arguments.emplace_back(view);
    results
        .emplace_back(
            type, std::vector<Index>(view.sizes().begin(), view.sizes().end()))
        .fillNormal(random);
  }
  withGradient = arguments;
  withGradient.emplace_back(outputGradient->view());
  for (const Buffer &result : results)
    gradients.push_back(result.view());
}

/// What is fast and wrong is an error. Queries and keys have the same products
/// with their gradients, as products of both are what the loss sees of them;
/// values, and what is linear in the stages behind the softmax, have that of
/// the output.
Status MultiTokenGradientSeries::check() const {
  auto dot = [](const TensorView &x, const TensorView &y) {
    std::vector<double> a = *reference::toDoubles("", x),
                        b = *reference::toDoubles("", y);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      sum += a[i] * b[i];
    return sum;
  };
  std::vector<double> products;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    products.push_back(dot(gradients[i], *arguments[i].view()));
  double ofOutput = dot(output->view(), outputGradient->view());
  double scale = std::sqrt(
      double(attention.heads * attention.length * MultiTokenCase::headSize));
  auto compare = [&](std::size_t number, double expected) -> Status {
    if (std::fabs(products[number] - expected) <=
        1e-3 * std::max(scale, std::fabs(expected)))
      return {};
    return Error{"gradient " + std::to_string(number) +
                     ": expected a product of " + std::to_string(expected) +
                     ", got " + std::to_string(products[number]),
                 {}};
  };
  if (Status status = compare(0, products[1]); !status)
    return status;
  if (Status status = compare(2, ofOutput); !status)
    return status;
  bool endsWithStage = attention.after.convolves || attention.after.mixed > 1;
  return endsWithStage ? compare(products.size() - 1, ofOutput) : Status{};
}

Expected<std::unique_ptr<Series>>
MultiTokenGradientSeries::create(const MultiTokenCase &attention,
                                 ElementType type, unsigned threads,
                                 const Options &options) {
  std::string text = attention.text(type);
  Expected<Kernel> forward =
      compileText(attention.name, text, threads, options);
  if (!forward)
    return forward.error();
  Expected<std::string> gradient = differentiate(text);
  if (!gradient)
    return gradient.error();
  Expected<Kernel> backward =
      compileText(attention.name, *gradient, threads, options);
  if (!backward)
    return backward.error();
  std::unique_ptr<MultiTokenGradientSeries> series(new MultiTokenGradientSeries(
      attention, type, threads, *forward, *backward));
  if (Expected<double> run = series->runForward(); !run)
    return run.error();
  if (Expected<double> run = series->runBackward(); !run)
    return run.error();
  if (Status status = series->check(); !status)
    return status.error();
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> MultiTokenGradientSeries::sample() {
  double flops = attention.countFlops(5, 3);
  double burst = 1e-3;
  double before = peak.measure(burst);
  Expected<Call> call = timeCall(threads, [&] { return runBackward(); });
  if (!call)
    return call.error();
  double after = peak.measure(burst);
  samples.push_back(
      {flops / call->seconds, (before + after) / 2, call->processors});
  Expected<Call> other = timeCall(threads, [&] { return runForward(); });
  if (!other)
    return other.error();
  quotients.push_back(flops / call->seconds * other->seconds /
                      attention.countFlops());
  return call->seconds;
}

void MultiTokenGradientSeries::report(benchmark::State &state) const {
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
  state.counters["compile_ms"] = backward.stats().totalMs;
  state.SetLabel("peak: " + std::string(peak.loopName()));
}

void registerMultiTokenGradient(const Options &options) {
  for (const MultiTokenCase &attention : getMultiTokenCases(1024))
    for (unsigned threads : {1u, 2u})
      registerSeries("gradient/mta-" + attention.name, ElementType::f32,
                     threads, [=] {
                       return MultiTokenGradientSeries::create(
                           attention, ElementType::f32, threads, options);
                     });
}

} // namespace attn::bench

//===- MultiToken.cpp - Measures multi-token attention --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counters, all medians over the repetitions:
//
// - `fraction_of_peak`: FLOP per second of the visible pairs, as a share of the
//   peak of the type. Two products, convolutions and mixing count.
// - `gflops`: that speed, in 10^9 FLOP per second.
// - `vs_causal`: time, divided by that of plain causal attention on the same
//   sizes, run in between.
// - `processors`: how many worked, as in Measurement.h.
// - `compile_ms`: what compiling cost, once.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiToken.h"
#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Values.h"
#include "tools/OutputCheck.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/MultiTokenCase.h"
#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <limits>
#include <optional>

using namespace attn;
using namespace attn::bench;

namespace {

constexpr Index headSize = MultiTokenCase::headSize,
                kernelQueries = MultiTokenCase::kernelQueries;

/// A kernel with its tensors.
class Runner {
public:
  static Expected<Runner> create(const MultiTokenCase &attention,
                                 ElementType type, unsigned threads,
                                 const Options &options);
  /// Gives the seconds that a call takes.
  Expected<double> run() const {
    TensorView result = output->view();
    return timeKernel(kernel, arguments, {&result, 1});
  }
  const CompileStats &compileStats() const { return kernel.stats(); }

private:
  Runner(const MultiTokenCase &attention, const Kernel &kernel)
      : attention(attention), kernel(kernel) {}
  void fill(ElementType type);
  Expected<Accuracy> checkAt(Index row) const;

  MultiTokenCase attention;
  Kernel kernel;
  /// Query, key, value, and what the stages have.
  std::vector<Buffer> inputs;
  std::optional<Buffer> output;
  std::vector<Argument> arguments;
};

/// With the peak around each call, and causal attention in between.
class MultiTokenSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const MultiTokenCase &attention, ElementType type, unsigned threads,
         const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  MultiTokenSeries(double flops, ElementType type, unsigned threads,
                   Runner runner)
      : flops(flops), threads(threads), runner(std::move(runner)),
        peak(type, threads) {}

  double flops;
  unsigned threads;
  Runner runner;
  std::optional<Workload> causal;
  PeakMeter peak;

  struct Sample {
    double seconds, peak, processors;
    double causal; ///< Seconds; 0 if there is none.
  };
  std::vector<Sample> samples;
};

} // namespace

void Runner::fill(ElementType type) {
  inputs = createInputs(attention, type);
  // What is never written shows.
  output.emplace(type, attention.rowSizes()).fill([](Index) {
    return std::numeric_limits<double>::quiet_NaN();
  });
  for (const Buffer &input : inputs)
    arguments.emplace_back(input.view());
}

/// Holds a row of every head to the reference, from the queries and keys that
/// it depends on.
Expected<Accuracy> Runner::checkAt(Index row) const {
  Index heads = attention.heads, length = attention.length;
  Index past = std::min(row, 2 * (kernelQueries - 1)), first = row - past;
  auto takeRows = [&](const Buffer &from, Index begin, Index end) {
    Buffer part(from.view().type(), {1, heads, end - begin, headSize});
    auto values = reference::toDoubles(
        "input", from.viewAt(0, {1, heads, length, headSize}));
    Index rowElements = (end - begin) * headSize;
    part.fill([&](Index i) {
      return (*values)[std::size_t(
          (i / rowElements * length + begin) * headSize + i % rowElements)];
    });
    return part;
  };
  Buffer query = takeRows(inputs[0], first, row + 1),
         key = takeRows(inputs[1], 0, row + 1),
         value = takeRows(inputs[2], 0, row + 1),
         actual = takeRows(*output, row, row + 1);
  reference::MultiTokenProblem problem;
  problem.attention.query = query.view();
  problem.attention.key = key.view();
  problem.attention.value = value.view();
  problem.attention.offsets = {first};
  problem.attention.mask = [](Index, Index, Index p, Index j) {
    return j <= p;
  };
  problem.outputLength = 1;
  std::size_t next = 3;
  auto takeStages = [&](const MultiTokenCase::Side &side,
                        reference::MultiTokenStages &stages) {
    if (side.convolves)
      stages.kernel = inputs[next++].view();
    if (side.mixed > 1)
      stages.mixing = inputs[next++].view();
  };
  takeStages(attention.before, problem.before);
  takeStages(attention.after, problem.after);
  auto expected = reference::multiTokenAttention(problem);
  if (!expected)
    return expected.error();
  return compareRow("row " + std::to_string(row), actual.view(),
                    expected->output);
}

Expected<Runner> Runner::create(const MultiTokenCase &attention,
                                ElementType type, unsigned threads,
                                const Options &options) {
  Expected<Kernel> kernel =
      compileText(attention.name, attention.text(type), threads, options);
  if (!kernel)
    return kernel.error();
  Runner runner(attention, *kernel);
  runner.fill(type);
  if (Expected<double> seconds = runner.run(); !seconds)
    return seconds.error();
  if (Status status = checkWritten(runner.output->view()); !status)
    return status.error();
  // Both ends, and both sides of where tiles meet.
  for (Index row : {Index(0), Index(63), Index(64), attention.length - 1})
    if (Expected<Accuracy> accuracy = runner.checkAt(row); !accuracy)
      return accuracy.error();
  return runner;
}

Expected<std::unique_ptr<Series>>
MultiTokenSeries::create(const MultiTokenCase &attention, ElementType type,
                         unsigned threads, const Options &options) {
  Expected<Runner> runner = Runner::create(attention, type, threads, options);
  if (!runner)
    return runner.error();
  std::unique_ptr<MultiTokenSeries> series(new MultiTokenSeries(
      attention.countFlops(), type, threads, std::move(*runner)));
  if (!options.alone) {
    auto causal = Workload::create(attention.causal(), type, threads, options);
    if (!causal)
      return causal.error();
    series->causal.emplace(std::move(*causal));
  }
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> MultiTokenSeries::sample() {
  constexpr double burst = 1e-3;
  double before = peak.measure(burst);
  Expected<Call> call = timeCall(threads, [&] { return runner.run(); });
  if (!call)
    return call.error();
  double after = peak.measure(burst);
  Sample sample = {call->seconds, (before + after) / 2, call->processors, 0};
  if (causal) {
    Expected<Call> other = timeCall(threads, [&] { return causal->run(); });
    if (!other)
      return other.error();
    sample.causal = other->seconds;
    sample.processors = std::min(sample.processors, other->processors);
  }
  samples.push_back(sample);
  return call->seconds;
}

void MultiTokenSeries::report(benchmark::State &state) const {
  std::vector<double> speeds, fractions, quotients, processors;
  for (const Sample &sample : samples)
    processors.push_back(sample.processors);
  for (const Sample &sample : keepQuiet(samples)) {
    double speed = flops / sample.seconds;
    speeds.push_back(speed * 1e-9);
    fractions.push_back(speed / sample.peak);
    if (causal)
      quotients.push_back(sample.seconds / sample.causal);
  }
  state.counters["gflops"] = median(speeds);
  state.counters["fraction_of_peak"] = median(fractions);
  if (causal)
    state.counters["vs_causal"] = median(quotients);
  state.counters["processors"] = median(processors);
  state.counters["compile_ms"] = runner.compileStats().totalMs;
  state.SetLabel("peak: " + std::string(peak.loopName()));
}

void bench::registerMultiToken(const Options &options) {
  auto add = [&](const MultiTokenCase &attention, unsigned threads) {
    registerSeries(
        "mta/" + attention.name + "/S" + std::to_string(attention.length),
        ElementType::f32, threads, [=] {
          return MultiTokenSeries::create(attention, ElementType::f32, threads,
                                          options);
        });
  };
  for (Index length : {1024, 2048, 4096, 8192})
    for (const MultiTokenCase &attention : getMultiTokenCases(length))
      for (unsigned threads : {1u, 2u})
        add(attention, threads);
  // Long, of as many heads as are mixed.
  add({"paper", {true, 1}, {false, 2}, 2, 32768}, 1);
}

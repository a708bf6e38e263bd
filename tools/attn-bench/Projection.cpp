//===- Projection.cpp - Linear maps of few and of many tokens -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Layer.h"
#include "runtime/Reference/Values.h"
#include "tools/attn-bench/ColdCaches.h"
#include "tools/attn-bench/DecodeCase.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"
#include "tools/attn-bench/Stream.h"

#include <optional>

using namespace attn;
using namespace attn::bench;
using Index = std::int64_t;

namespace {

/// Features of a token, before and after, in 32 heads of 64.
constexpr Index features = 2048, headSize = 64, heads = features / headSize;

struct ProjectionCase {
  Index tokens;
  /// Of the weight; the input's is f32 if that is i8.
  ElementType type;
  ElementType activation = getActivationType(type);
  bool isPacked = true;

  /// Whether the weight is read as it lies, but for the last count, of which
  /// rows are packed.
  bool hasFewTokens() const { return tokens <= 65; }
  std::vector<Index> weightSizes() const {
    if (!isPacked)
      return {features, features};
    if (type == ElementType::bf16)
      return {features / 32, features / 2, 32, 2};
    return {features / 64, features, 64};
  }
  std::string text() const {
    auto join = [](const std::vector<Index> &sizes) {
      std::string text;
      for (Index size : sizes)
        text += (text.empty() ? "" : "x") + std::to_string(size);
      return text;
    };
    std::string x = tensorText(join({1, tokens, features}), activation),
                w = tensorText(join(weightSizes()), type),
                y = tensorText(join({1, heads, tokens, headSize}), activation);
    bool isQuantized = type == ElementType::i8;
    std::string scales = tensorText(std::to_string(features), ElementType::f32);
    return "func.func @projection(%x: " + x + ", %w: " + w +
           (isQuantized ? ", %s: " + scales : "") + ") -> " + y +
           " {\n  %e = tensor.empty() : " + y +
           "\n  %0 = attn.projection ins(%x, %w : " + x + ", " + w +
           ") outs(%e : " + y + ")" +
           (isQuantized ? " scales(%s : " + scales + ")" : "") +
           "\n  return %0 : " + y + "\n}\n";
  }
  /// The type whose peak it is held to: of f32 times bf16 it is bf16's, of
  /// which each number of f32 takes three products.
  ElementType multiplied() const {
    return type == ElementType::bf16 && isPacked ? type : activation;
  }
  double flops() const {
    return 2.0 * double(tokens) * double(features) * double(features);
  }
  double bytes() const {
    return double(features) * double(features) * double(sizeOf(type));
  }
};

/// With the machine's arithmetic measured around each call, and for few tokens
/// its memory. Counters, all medians over the repetitions:
///
/// - `fraction_of_peak`: FLOP per second as a share of the peak of the type.
/// - `gflops`: 10^9 FLOP per second.
/// - `processors`: how many worked, as in Measurement.h.
/// - `compile_ms`: what compiling cost, once.
/// - `fraction_of_stream`, of few tokens, whose weights come from memory: the
///   weight's bytes per second as a share of the speed at which as many threads
///   read as many bytes, as two streams.
/// - `stream_gbps`: the speed of the streams.
class ProjectionSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const ProjectionCase &projection, unsigned threads,
         const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  ProjectionSeries(const ProjectionCase &projection, unsigned threads,
                   const Kernel &kernel)
      : projection(projection), threads(threads), kernel(kernel),
        input(projection.activation, {1, projection.tokens, features}),
        output(input.view().type(), {1, heads, projection.tokens, headSize}),
        scales(ElementType::f32, {features}), stream(threads),
        peak(projection.multiplied(), threads) {}
  void fill(bool isWarm);
  Status check();
  const Buffer &nextWeight() { return cold ? cold->next().key : *weight; }
  Expected<double> run(const Buffer &weight);
  double measureStream() {
    if (!cold)
      return 1;
    auto measure = [&](const Buffer &other) {
      std::size_t half = other.bytes() / 2;
      return stream.measure(other.data(), other.data() + half, half);
    };
    const ColdCaches::Cache &cache = cold->next();
    return (measure(cache.key) + measure(cache.value)) / 2;
  }

  ProjectionCase projection;
  unsigned threads;
  Kernel kernel;
  Buffer input, output, scales;
  /// Weights that are not in caches, or one.
  std::optional<ColdCaches> cold;
  std::optional<Buffer> weight;
  StreamMeter stream;
  PeakMeter peak;

  struct Sample {
    double seconds;
    double stream;     ///< Bytes per second.
    double peak;       ///< FLOP per second.
    double processors; ///< That worked, on average.
  };
  std::vector<Sample> samples;
};

} // namespace

void ProjectionSeries::fill(bool isWarm) {
  std::mt19937_64 random(2);
  input.fillNormal(random);
  scales.fill([](Index i) { return 0.01 + 0.001 * double(i % 7); });
  if (projection.hasFewTokens()) {
    cold.emplace(projection.type, projection.weightSizes(), isWarm);
    return;
  }
  weight.emplace(projection.type, projection.weightSizes());
  std::uniform_int_distribution<int> integers(-127, 127);
  if (projection.type == ElementType::i8)
    weight->fill([&](Index) { return double(integers(random)); });
  else
    weight->fillNormal(random);
}

/// The last token's result.
Status ProjectionSeries::check() {
  const Buffer &weight = nextWeight();
  if (Expected<double> seconds = run(weight); !seconds)
    return seconds.error();
  Index last = projection.tokens - 1;
  reference::ProjectionProblem problem{
      input.viewAt(last * features, {1, 1, features}),
      weight.view(),
      {},
      {},
      {{1, heads, 1, headSize}}};
  if (projection.type == ElementType::i8)
    problem.scales = scales.view();
  auto expected = reference::project(problem);
  if (!expected)
    return expected.error();
  auto all = reference::toDoubles("output", output.view());
  if (!all)
    return all.error();
  std::vector<double> actual;
  for (Index n = 0; n < features; ++n)
    actual.push_back((*all)[std::size_t(
        (n / headSize * projection.tokens + last) * headSize + n % headSize)]);
  auto comparison =
      reference::compare(actual, expected->front(),
                         reference::toleranceFor(input.view().type(),
                                                 reference::Quantity::output));
  if (!comparison)
    return comparison.error();
  if (!comparison->passed)
    return Error{"differs from the reference by " +
                     std::to_string(comparison->error),
                 {}};
  return {};
}

Expected<double> ProjectionSeries::run(const Buffer &weight) {
  std::vector<Argument> arguments = {input.view(), weight.view()};
  if (projection.type == ElementType::i8)
    arguments.emplace_back(scales.view());
  TensorView result = output.view();
  return timeKernel(kernel, arguments, {&result, 1});
}

Expected<std::unique_ptr<Series>>
ProjectionSeries::create(const ProjectionCase &projection, unsigned threads,
                         const Options &options) {
  Expected<Kernel> kernel =
      compileText("projection", projection.text(), threads, options);
  if (!kernel)
    return kernel.error();
  std::unique_ptr<ProjectionSeries> series(
      new ProjectionSeries(projection, threads, *kernel));
  series->fill(options.warm);
  if (Status status = series->check(); !status)
    return status.error();
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> ProjectionSeries::sample() {
  constexpr double burst = 100e-6;
  double peakBefore = peak.measure(burst), streamBefore = measureStream();
  const Buffer *timed = cold ? nullptr : &*weight;
  if (cold) {
    const ColdCaches::Cache &cache = cold->next();
    timed = &cache.key;
    // Right after another call, as in a model, so that threads are awake.
    if (Expected<double> seconds = run(cache.value); !seconds)
      return seconds.error();
  }
  Expected<Call> call = timeCall(threads, [&] { return run(*timed); });
  if (!call)
    return call.error();
  double streamAfter = measureStream(), peakAfter = peak.measure(burst);
  samples.push_back({call->seconds, (streamBefore + streamAfter) / 2,
                     (peakBefore + peakAfter) / 2, call->processors});
  return call->seconds;
}

void ProjectionSeries::report(benchmark::State &state) const {
  std::vector<double> speeds, streams, ofStream, ofPeak, processors;
  for (const Sample &sample : samples)
    processors.push_back(sample.processors);
  for (const Sample &sample : keepQuiet(samples)) {
    double speed = projection.flops() / sample.seconds;
    speeds.push_back(speed * 1e-9);
    ofPeak.push_back(speed / sample.peak);
    streams.push_back(sample.stream * 1e-9);
    ofStream.push_back(projection.bytes() / sample.seconds / sample.stream);
  }
  state.counters["gflops"] = median(speeds);
  state.counters["fraction_of_peak"] = median(ofPeak);
  state.counters["processors"] = median(processors);
  state.counters["compile_ms"] = kernel.stats().totalMs;
  std::string label = std::string("peak: ") + peak.loopName();
  if (cold) {
    state.counters["fraction_of_stream"] = median(ofStream);
    state.counters["stream_gbps"] = median(streams);
    label += std::string(", stream: ") + stream.loopName();
  }
  state.SetLabel(label);
}

void bench::registerProjection(const Options &options) {
  auto add = [&](const std::string &name, const ProjectionCase &projection,
                 unsigned threads) {
    registerSeries(name, projection.type, threads, [=] {
      return ProjectionSeries::create(projection, threads, options);
    });
  };
  for (Index tokens : {1, 512, 1024, 2048})
    for (ElementType type : {ElementType::f32, ElementType::bf16,
                             ElementType::f16, ElementType::i8})
      for (unsigned threads : {1u, 2u})
        add("projection/S" + std::to_string(tokens), {tokens, type}, threads);
  // Drafted tokens, or those of some sequences, up to the first counts that are
  // many: with and without tiles of bf16.
  for (Index tokens : {2, 4, 8, 16, 17, 64, 65})
    for (ElementType type :
         {ElementType::f32, ElementType::bf16, ElementType::i8})
      add("projection/S" + std::to_string(tokens), {tokens, type}, 1);
  // The weight as a file has it.
  for (Index tokens : {1, 2, 4, 8, 16, 17, 64, 65, 1024})
    for (ElementType type :
         {ElementType::f32, ElementType::bf16, ElementType::i8})
      add("projection/plain/S" + std::to_string(tokens),
          {tokens, type, getActivationType(type), /*isPacked=*/false}, 1);
  // f32 times bf16, as of a model that keeps its activations in f32.
  for (Index tokens : {1, 512, 1024})
    for (unsigned threads : {1u, 2u})
      add("projection/f32/S" + std::to_string(tokens),
          {tokens, ElementType::bf16, ElementType::f32}, threads);
}

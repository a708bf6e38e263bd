//===- Decode.cpp - A few queries against long caches ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeWorkload.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Peak.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"
#include "tools/attn-bench/Stream.h"

using namespace attn;
using namespace attn::bench;

namespace {

/// With the machine's memory and arithmetic measured around each call.
///
/// Counters, all medians over the repetitions:
///
/// - `gbps`: 10^9 bytes of keys and values per second.
/// - `fraction_of_stream`: that speed as a share of that at which as many
///   threads read two streams of as many bytes, right before and after each
///   call. They are other caches of the same rotation.
/// - `stream_gbps`: the speed of the streams.
/// - `fraction_of_peak`: FLOP per second as a share of the peak of the type.
/// - `fraction_of_bound`: the larger of the two shares, of what binds.
/// - `processors`: how many worked, as in Measurement.h.
/// - `compile_ms`: what compiling cost, once.
/// - one for each baseline.
class DecodeSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const DecodeBenchmark &benchmark, ElementType type, unsigned threads,
         const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  DecodeSeries(DecodeWorkload workload, ElementType type, unsigned threads)
      : threads(threads), workload(std::move(workload)), stream(threads),
        peak(getActivationType(type), threads) {}
  double measureStream();

  unsigned threads;
  DecodeWorkload workload;
  StreamMeter stream;
  PeakMeter peak;

  struct Sample {
    double seconds;
    double stream;     ///< Bytes per second.
    double peak;       ///< FLOP per second.
    double processors; ///< That worked, on average.
  };
  std::vector<Sample> samples;

  /// A baseline and the quotients.
  struct Compared {
    std::string counter;
    DecodeWorkload workload;
    bool isOfTimes;
    std::vector<double> quotients;
  };
  std::vector<Compared> compared;
};

} // namespace

Expected<std::unique_ptr<Series>>
DecodeSeries::create(const DecodeBenchmark &benchmark, ElementType type,
                     unsigned threads, const Options &options) {
  Expected<DecodeWorkload> workload =
      DecodeWorkload::create(benchmark.decode, type, threads, options);
  if (!workload)
    return workload.error();
  std::unique_ptr<DecodeSeries> series(
      new DecodeSeries(std::move(*workload), type, threads));
  if (options.alone)
    return std::unique_ptr<Series>(std::move(series));
  // What it is compared with is as planned.
  Options planned = options;
  planned.tuningSeconds = 0;
  std::vector<DecodeBaseline> baselines = benchmark.baselines;
  if (options.tuningSeconds > 0)
    baselines.push_back({"vs_planned", benchmark.decode});
  for (const DecodeBaseline &baseline : baselines) {
    Expected<DecodeWorkload> other =
        DecodeWorkload::create(baseline.decode, type, threads, planned);
    if (!other)
      return other.error();
    series->compared.push_back(
        {baseline.counter, std::move(*other), baseline.isOfTimes, {}});
  }
  return std::unique_ptr<Series>(std::move(series));
}

double DecodeSeries::measureStream() {
  const ColdCaches::Cache &cache = workload.nextCache();
  return stream.measure(cache.key.data(), cache.value.data(),
                        cache.key.bytes());
}

Expected<double> DecodeSeries::sample() {
  constexpr double burst = 100e-6;
  double peakBefore = peak.measure(burst), streamBefore = measureStream();
  const ColdCaches::Cache &cache = workload.nextCache();
  Expected<Call> call = timeCall(threads, [&] { return workload.run(cache); });
  if (!call)
    return call.error();
  double streamAfter = measureStream(), peakAfter = peak.measure(burst);
  samples.push_back({call->seconds, (streamBefore + streamAfter) / 2,
                     (peakBefore + peakAfter) / 2, call->processors});
  for (Compared &other : compared) {
    Expected<double> seconds = other.workload.run(other.workload.nextCache());
    if (!seconds)
      return seconds.error();
    double ofSpeeds =
        workload.flops() / call->seconds / (other.workload.flops() / *seconds);
    other.quotients.push_back(other.isOfTimes ? 1 / ofSpeeds : ofSpeeds);
  }
  return call->seconds;
}

void DecodeSeries::report(benchmark::State &state) const {
  std::vector<double> speeds, streams, ofStream, ofPeak, processors;
  for (const Sample &sample : samples)
    processors.push_back(sample.processors);
  for (const Sample &sample : keepQuiet(samples)) {
    double speed = workload.bytes() / sample.seconds;
    speeds.push_back(speed * 1e-9);
    streams.push_back(sample.stream * 1e-9);
    ofStream.push_back(speed / sample.stream);
    ofPeak.push_back(workload.flops() / sample.seconds / sample.peak);
  }
  state.counters["gbps"] = median(speeds);
  state.counters["fraction_of_stream"] = median(ofStream);
  state.counters["stream_gbps"] = median(streams);
  state.counters["fraction_of_peak"] = median(ofPeak);
  state.counters["fraction_of_bound"] =
      std::max(median(ofStream), median(ofPeak));
  state.counters["processors"] = median(processors);
  state.counters["compile_ms"] = workload.compileStats().totalMs;
  for (const Compared &other : compared)
    state.counters[other.counter] = median(other.quotients);
  state.SetLabel("stream: " + std::string(stream.loopName()) +
                 ", peak: " + peak.loopName() +
                 (workload.tuned().empty() ? "" : ", " + workload.tuned()));
}

static void registerFamily(const std::string &family,
                           const std::vector<DecodeBenchmark> &benchmarks,
                           const Options &options) {
  auto add = [&](const DecodeBenchmark &decode, const std::string &suffix,
                 ElementType type, const Options &ofCase) {
    for (unsigned threads : {1u, 2u})
      registerSeries(
          family + "/" + decode.decode->name + suffix, type, threads,
          [=] { return DecodeSeries::create(decode, type, threads, ofCase); });
  };
  for (const DecodeBenchmark &decode : benchmarks)
    if (decode.decode)
      for (ElementType type :
           {ElementType::f32, ElementType::bf16, ElementType::f16})
        add(decode, "", type, options);
  for (const DecodeBenchmark &decode : benchmarks)
    if (decode.quantized) {
      DecodeBenchmark narrow = {
          decode.quantized, decode.quantizedBaselines, {}, {}};
      for (ElementType type : {ElementType::f8e4m3fn, ElementType::f8e5m2})
        add(narrow, "", type, options);
      for (bool quantizeQueries : {false, true}) {
        Options ofCase = options;
        ofCase.quantizeQueries = quantizeQueries;
        add(narrow, quantizeQueries ? "-i8dot" : "", ElementType::i8, ofCase);
      }
    }
}

void bench::registerDecode(const Options &options) {
  registerFamily("decode", getDecodeBenchmarks(), options);
  registerFamily("serve", getServingBenchmarks(), options);
}

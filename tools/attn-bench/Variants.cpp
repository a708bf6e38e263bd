//===- Variants.cpp - Measures the gallery against a causal mask ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counters, the first two medians over the repetitions:
//
// - `vs_causal`: time for each visible pair, divided by that of the causal
//   kernel on the same sizes, run in turns with it. Pairs are counted in
//   blocks.
// - `times_faster`: the causal kernel's time, divided by the variant's.
// - `blocks`: share of the causal kernel's pairs.
// - `compile_ms`: what compiling cost, once.
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Buffer.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/GalleryCases.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

// Inside, so that Index is the benchmarks' and not that of expressions.
namespace attn::bench {

namespace {

/// A kernel with its tensors.
class Runner {
public:
  static Expected<Runner> create(const GalleryCase &variant,
                                 const Attention &attention, unsigned threads,
                                 const Options &options);
  /// Gives the seconds that a call takes.
  Expected<double> run() const {
    return timeKernel(kernel, arguments, results);
  }
  double compileMs() const { return kernel.stats().totalMs; }

private:
  explicit Runner(const Kernel &kernel) : kernel(kernel) {}
  Status addArgument(const GalleryCase &variant, const Parameter &parameter);
  void addTensor(ElementType type, std::vector<Index> sizes) {
    std::mt19937_64 random(arguments.size());
    Buffer &buffer = buffers.emplace_back(type, std::move(sizes));
    buffer.fillNormal(random);
    arguments.emplace_back(buffer.view());
  }

  Kernel kernel;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<TensorView> results;
};

} // namespace

Status Runner::addArgument(const GalleryCase &variant,
                           const Parameter &parameter) {
  for (const auto &[name, value] : variant.scalars)
    if (name == parameter.name) {
      arguments.emplace_back(value);
      return {};
    }
  for (const Operand &operand : variant.tensors)
    if (operand.name == parameter.name) {
      Buffer &buffer = buffers.emplace_back(*operand.type, operand.sizes);
      buffer.fill(operand.valueAt);
      arguments.emplace_back(buffer.view());
      return {};
    }
  return Error{"no value for argument '" + parameter.name + "'", {}};
}

Expected<Runner> Runner::create(const GalleryCase &variant,
                                const Attention &attention, unsigned threads,
                                const Options &options) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  CompileOptions compileOptions;
  if (!options.pipeline.empty())
    compileOptions.pipeline = options.pipeline;
  compileOptions.fileName = variant.name;
  Expected<Kernel> kernel = engine->compile(attention, compileOptions);
  if (!kernel)
    return kernel.error();
  Runner runner(*kernel);
  Index keyHeads = attention.keyValueHeads.value_or(attention.queryHeads);
  runner.addTensor(attention.type, {1, attention.queryHeads,
                                    variant.queryLength, attention.headSize});
  runner.addTensor(attention.type,
                   {1, keyHeads, variant.keyLength, attention.headSize});
  runner.addTensor(attention.type,
                   {1, keyHeads, variant.keyLength,
                    attention.valueHeadSize.value_or(attention.headSize)});
  for (const Parameter &parameter :
       std::span(kernel->signature().arguments).subspan(3))
    if (Status added = runner.addArgument(variant, parameter); !added)
      return added.error();
  auto shapes = kernel->resultShapes(runner.arguments);
  if (!shapes)
    return shapes.error();
  for (std::size_t i = 0; i < shapes->size(); ++i)
    runner.results.push_back(
        runner.buffers
            .emplace_back(kernel->signature().results[i].type, (*shapes)[i])
            .view());
  return runner;
}

namespace {

/// In turns with a causal kernel, unless it runs alone. A turn of either takes
/// as long: in the milliseconds of a causal kernel, whatever else the machine
/// runs evicts from the last-level cache what a variant reads, so that one call
/// after it would be one from memory, and the causal ones not.
class VariantSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>> create(const GalleryCase &variant,
                                                  ElementType type,
                                                  unsigned threads,
                                                  const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  VariantSeries(Runner variant, std::optional<Runner> causal, double share)
      : variant(std::move(variant)), causal(std::move(causal)), share(share) {}

  Runner variant;
  std::optional<Runner> causal;
  double share; ///< Of pairs, of the variant in the causal kernel.
  std::vector<double> quotients; ///< Time of the variant by that of causal.
};

} // namespace

Expected<std::unique_ptr<Series>>
VariantSeries::create(const GalleryCase &variant, ElementType type,
                      unsigned threads, const Options &options) {
  Expected<Runner> runner =
      Runner::create(variant, variant.attention(type), threads, options);
  if (!runner)
    return runner.error();
  std::optional<Runner> causal;
  if (!options.alone) {
    Expected<Runner> created =
        Runner::create(variant, variant.causal(type), threads, options);
    if (!created)
      return created.error();
    causal = std::move(*created);
  }
  double share =
      double(variant.countPairs()) / double(variant.countCausalPairs());
  return std::unique_ptr<Series>(
      new VariantSeries(std::move(*runner), std::move(causal), share));
}

/// Gives the mean of a turn.
Expected<double> VariantSeries::sample() {
  if (!causal)
    return variant.run();
  auto calls = std::max<Index>(1, std::llround(1 / share));
  double sum = 0;
  for (Index i = 0; i < calls; ++i) {
    Expected<double> seconds = variant.run();
    if (!seconds)
      return seconds;
    sum += *seconds;
  }
  Expected<double> other = causal->run();
  if (!other)
    return other;
  double mean = sum / double(calls);
  quotients.push_back(mean / *other);
  return mean;
}

void VariantSeries::report(benchmark::State &state) const {
  state.counters["blocks"] = share;
  state.counters["compile_ms"] = variant.compileMs();
  if (!causal)
    return;
  double quotient = median(quotients);
  state.counters["vs_causal"] = quotient / share;
  state.counters["times_faster"] = 1 / quotient;
}

void registerVariants(const Options &options) {
  for (const GalleryCase &variant : getGalleryCases())
    for (ElementType type :
         {ElementType::f32, ElementType::bf16, ElementType::f16})
      for (unsigned threads : {1u, 2u})
        registerSeries("variant/" + variant.name, type, threads, [=] {
          return VariantSeries::create(variant, type, threads, options);
        });
}

} // namespace attn::bench

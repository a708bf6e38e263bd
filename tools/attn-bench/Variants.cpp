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

#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/GalleryRunner.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

// Inside, so that Index is the benchmarks' and not that of expressions.
namespace attn::bench {

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
  VariantSeries(GalleryRunner variant, std::optional<GalleryRunner> causal,
                double share)
      : variant(std::move(variant)), causal(std::move(causal)), share(share) {}

  GalleryRunner variant;
  std::optional<GalleryRunner> causal;
  double share; ///< Of pairs, of the variant in the causal kernel.
  std::vector<double> quotients; ///< Time of the variant by that of causal.
};

} // namespace

Expected<std::unique_ptr<Series>>
VariantSeries::create(const GalleryCase &variant, ElementType type,
                      unsigned threads, const Options &options) {
  Expected<GalleryRunner> runner =
      GalleryRunner::create(variant, variant.attention(type), threads, options);
  if (!runner)
    return runner.error();
  std::optional<GalleryRunner> causal;
  if (!options.alone) {
    Expected<GalleryRunner> created =
        GalleryRunner::create(variant, variant.causal(type), threads, options);
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

//===- Layer.cpp - A layer of attention, and what it is made of -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Values.h"
#include "tools/attn-bench/Buffer.h"
#include "tools/attn-bench/DecodeCase.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <cmath>

using namespace attn;
using namespace attn::bench;
using Index = std::int64_t;

namespace {

/// The attention of a layer of SmolLM2-135M.
constexpr Index length = 512, width = 576, queryHeads = 9, keyValueHeads = 3,
                headSize = 64;
constexpr Index fusedColumns = (queryHeads + 2 * keyValueHeads) * headSize;

/// Sizes of a weight in the panels that suit its type.
std::vector<Index> panelSizes(ElementType type, Index columns) {
  if (type == ElementType::bf16)
    return {columns / 32, width / 2, 32, 2};
  return {columns / 64, width, 64};
}

/// The functions of a layer and of its parts, each of which could be a kernel
/// of its own: projections, rotation with attention, and projection. Without
/// the parts, the layer alone.
std::string moduleText(ElementType type, bool hasParts = true) {
  auto sizesText = [&](const std::vector<Index> &sizes, ElementType element) {
    std::string text;
    for (Index size : sizes)
      text += (text.empty() ? "" : "x") + std::to_string(size);
    return tensorText(text, element);
  };
  std::string aliases;
  auto alias = [&](const char *name, const std::vector<Index> &sizes,
                   ElementType element) {
    aliases +=
        "!" + std::string(name) + " = " + sizesText(sizes, element) + "\n";
  };
  alias("x", {1, length, width}, type);
  alias("q", {1, queryHeads, length, headSize}, type);
  alias("k", {1, keyValueHeads, length, headSize}, type);
  alias("wqkv", panelSizes(type, fusedColumns), type);
  alias("wo", panelSizes(type, width), type);
  alias("angles", {length, headSize / 2}, ElementType::f32);
  std::string layer = aliases + R"mlir(
func.func @layer(%x: !x, %wqkv: !wqkv, %wo: !wo, %cosine: !angles,
                 %sine: !angles) -> !x {
  %init = tensor.empty() : !x
  %y = attn.multi_head_attention heads(9, 3) sizes(64, 64)
      ins(%x : !x) outs(%init : !x) qkv(%wqkv : !wqkv) output(%wo : !wo)
      rope half_split(%cosine, %sine : !angles, !angles) mask causal
  return %y : !x
}
)mlir";
  if (!hasParts)
    return layer;
  return layer + R"mlir(
func.func @project(%x: !x, %wqkv: !wqkv) -> (!q, !k, !k) {
  %query = tensor.empty() : !q
  %key = tensor.empty() : !k
  %value = tensor.empty() : !k
  %q, %k, %v = attn.projection ins(%x, %wqkv : !x, !wqkv)
      outs(%query, %key, %value : !q, !k, !k)
  return %q, %k, %v : !q, !k, !k
}
func.func @attend(%q: !q, %k: !k, %v: !k, %cosine: !angles,
                  %sine: !angles) -> !q {
  %query = tensor.empty() : !q
  %key = tensor.empty() : !k
  %output = tensor.empty() : !q
  %rq = attn.rope half_split ins(%q, %cosine, %sine : !q, !angles, !angles)
      outs(%query : !q)
  %rk = attn.rope half_split ins(%k, %cosine, %sine : !k, !angles, !angles)
      outs(%key : !k)
  %o = attn.attention ins(%rq, %rk, %v : !q, !k, !k) outs(%output : !q) mask causal
  return %o : !q
}
func.func @output(%o: !q, %wo: !wo) -> !x {
  %init = tensor.empty() : !x
  %y = attn.projection ins(%o, %wo : !q, !wo) outs(%init : !x)
  return %y : !x
}
)mlir";
}

/// A layer and its parts, called in turns. Counters, medians over the
/// repetitions:
///
/// - `vs_parts`: the layer's time as a share of the sum of its parts'.
/// - `gflops`: of the projections and the visible pairs.
/// - `processors`: how many worked, as in Measurement.h.
/// - `compile_ms`: what compiling the layer cost, once.
class LayerSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(ElementType type, unsigned threads, const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  LayerSeries(ElementType type, unsigned threads)
      : type(type), threads(threads), x(type, {1, length, width}),
        query(type, {1, queryHeads, length, headSize}),
        key(type, {1, keyValueHeads, length, headSize}),
        value(type, {1, keyValueHeads, length, headSize}),
        attended(type, {1, queryHeads, length, headSize}),
        inputWeight(type, panelSizes(type, fusedColumns)),
        outputWeight(type, panelSizes(type, width)),
        cosine(ElementType::f32, {length, headSize / 2}),
        sine(ElementType::f32, {length, headSize / 2}),
        ofLayer(type, {1, length, width}), ofParts(type, {1, length, width}) {}
  void fill();
  Status check();
  Expected<double> runLayer();
  Expected<double> runParts();

  ElementType type;
  unsigned threads;
  std::vector<Kernel> kernels; ///< The layer, and its parts in their order.
  Buffer x, query, key, value, attended, inputWeight, outputWeight, cosine,
      sine, ofLayer, ofParts;

  struct Sample {
    double seconds, parts, processors;
  };
  std::vector<Sample> samples;
};

} // namespace

void LayerSeries::fill() {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 1 / std::sqrt(double(width)));
  x.fillNormal(random);
  for (Buffer *weight : {&inputWeight, &outputWeight})
    weight->fill([&](Index) { return normal(random); });
  auto angle = [](Index i) {
    constexpr Index pairs = headSize / 2;
    Index position = i / pairs;
    return double(position) *
           std::pow(10000, -double(i % pairs) / double(pairs));
  };
  cosine.fill([&](Index i) { return std::cos(angle(i)); });
  sine.fill([&](Index i) { return std::sin(angle(i)); });
}

Expected<double> LayerSeries::runLayer() {
  const Argument arguments[] = {x.view(), inputWeight.view(),
                                outputWeight.view(), cosine.view(),
                                sine.view()};
  TensorView result = ofLayer.view();
  return timeKernel(kernels[0], arguments, {&result, 1});
}

Expected<double> LayerSeries::runParts() {
  double sum = 0;
  auto run = [&](std::size_t part, std::vector<Argument> arguments,
                 std::vector<TensorView> results) -> Status {
    Expected<double> seconds = timeKernel(kernels[part], arguments, results);
    if (!seconds)
      return seconds.error();
    sum += *seconds;
    return {};
  };
  if (Status status = run(1, {x.view(), inputWeight.view()},
                          {query.view(), key.view(), value.view()});
      !status)
    return status.error();
  if (Status status = run(
          2,
          {query.view(), key.view(), value.view(), cosine.view(), sine.view()},
          {attended.view()});
      !status)
    return status.error();
  if (Status status =
          run(3, {attended.view(), outputWeight.view()}, {ofParts.view()});
      !status)
    return status.error();
  return sum;
}

/// That both compute the same.
Status LayerSeries::check() {
  for (auto run : {&LayerSeries::runLayer, &LayerSeries::runParts})
    if (Expected<double> seconds = (this->*run)(); !seconds)
      return seconds.error();
  auto layer = reference::toDoubles("layer", ofLayer.view()),
       parts = reference::toDoubles("parts", ofParts.view());
  if (!layer || !parts)
    return layer ? parts.error() : layer.error();
  auto comparison = reference::compare(
      *layer, *parts,
      reference::toleranceFor(type, reference::Quantity::output));
  if (!comparison)
    return comparison.error();
  if (!comparison->passed)
    return Error{
        "differs from its parts by " + std::to_string(comparison->error), {}};
  return {};
}

Expected<std::unique_ptr<Series>> LayerSeries::create(ElementType type,
                                                      unsigned threads,
                                                      const Options &options) {
  std::unique_ptr<LayerSeries> series(new LayerSeries(type, threads));
  for (const char *name : {"layer", "project", "attend", "output"}) {
    Expected<Engine> engine = createEngine(options, threads);
    if (!engine)
      return engine.error();
    Expected<Kernel> kernel =
        engine->compile(moduleText(type), {.entry = name, .fileName = "layer"});
    if (!kernel)
      return kernel.error();
    series->kernels.push_back(*kernel);
  }
  series->fill();
  if (Status status = series->check(); !status)
    return status.error();
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> LayerSeries::sample() {
  Expected<double> before = runParts();
  if (!before)
    return before;
  Expected<Call> call = timeCall(threads, [&] { return runLayer(); });
  if (!call)
    return call.error();
  Expected<double> after = runParts();
  if (!after)
    return after;
  samples.push_back({call->seconds, (*before + *after) / 2, call->processors});
  return call->seconds;
}

void LayerSeries::report(benchmark::State &state) const {
  constexpr double pairs = double(length) * (length + 1) / 2 * queryHeads,
                   flops = 2.0 * length * width *
                               (fusedColumns + queryHeads * headSize) +
                           4.0 * pairs * headSize;
  std::vector<double> speeds, shares, processors;
  for (const Sample &sample : samples)
    processors.push_back(sample.processors);
  for (const Sample &sample : keepQuiet(samples)) {
    speeds.push_back(flops / sample.seconds * 1e-9);
    shares.push_back(sample.seconds / sample.parts);
  }
  state.counters["gflops"] = median(speeds);
  state.counters["vs_parts"] = median(shares);
  state.counters["processors"] = median(processors);
  state.counters["compile_ms"] = kernels[0].stats().totalMs;
}

std::string bench::getLayerText(ElementType type) {
  return moduleText(type, /*hasParts=*/false);
}

void bench::registerLayer(const Options &options) {
  for (ElementType type : {ElementType::f32, ElementType::bf16})
    for (unsigned threads : {1u, 2u})
      registerSeries("layer/P5", type, threads, [=] {
        return LayerSeries::create(type, threads, options);
      });
}

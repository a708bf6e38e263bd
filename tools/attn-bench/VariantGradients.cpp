//===- VariantGradients.cpp - Measures gradients of the gallery -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of query, key and value and of what a score captures, from the
// output and the log-sum-exp. Counters:
//
// - `vs_forward`: the time divided by that of the variant, which runs in turns.
//   Median.
// - `compile_ms`: what compiling cost, once.
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy/Npy.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/GalleryRunner.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <memory>
#include <random>

namespace attn::bench {

namespace {

class VariantGradientSeries : public Series {
public:
  static Expected<std::unique_ptr<Series>>
  create(const GalleryCase &variant, unsigned threads, const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  VariantGradientSeries(GalleryRunner forward, const Kernel &backward)
      : forward(std::move(forward)), backward(backward) {}
  Status makeTensors();
  Status save(const std::string &folder) const;

  GalleryRunner forward;
  Kernel backward;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<TensorView> gradients;
  std::vector<double> quotients; ///< Time of the gradients by the variant's.
};

} // namespace

static bool isOfFloats(const Parameter &argument) {
  return argument.isTensor && argument.type == ElementType::f32;
}

/// After the variant has run.
Status VariantGradientSeries::makeTensors() {
  arguments = forward.getArguments();
  for (const TensorView &result : forward.getResults())
    arguments.emplace_back(result);
  const TensorView &output = forward.getResults()[0];
  std::mt19937_64 random(arguments.size());
  Buffer &gradient = buffers.emplace_back(
      output.type(),
      std::vector<Index>(output.sizes().begin(), output.sizes().end()));
  gradient.fillNormal(random);
  arguments.emplace_back(gradient.view());
  auto shapes = backward.resultShapes(arguments);
  if (!shapes)
    return shapes.error();
  for (std::size_t i = 0; i < shapes->size(); ++i)
    gradients.push_back(
        buffers.emplace_back(backward.signature().results[i].type, (*shapes)[i])
            .view());
  return {};
}

/// Tensors by the names of the arguments, gradients after "of_".
Status VariantGradientSeries::save(const std::string &folder) const {
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorView *view = arguments[i].view();
    if (!view)
      continue;
    const std::string &name = backward.signature().arguments[i].name;
    if (Status status = writeNpy(folder + "/" + name + ".npy", *view); !status)
      return status;
    bool isOfAttention = i < forward.getArguments().size();
    if (isOfAttention && view->type() == ElementType::f32)
      if (Status status =
              writeNpy(folder + "/of_" + name + ".npy", gradients[next++]);
          !status)
        return status;
  }
  return {};
}

Expected<std::unique_ptr<Series>>
VariantGradientSeries::create(const GalleryCase &variant, unsigned threads,
                              const Options &options) {
  Attention attention = variant.attention(ElementType::f32);
  attention.logSumExp = true;
  Expected<GalleryRunner> forward =
      GalleryRunner::create(variant, attention, threads, options);
  if (!forward)
    return forward.error();
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  GradientOptions gradient{.results = {0}};
  for (const Parameter &argument : forward->signature().arguments)
    if (isOfFloats(argument))
      gradient.of.push_back(argument.name);
  Expected<Kernel> backward =
      engine->compileGradient(attention, gradient, {.fileName = variant.name});
  if (!backward)
    return backward.error();
  if (Expected<double> run = forward->run(); !run)
    return run.error();
  std::unique_ptr<VariantGradientSeries> series(
      new VariantGradientSeries(std::move(*forward), *backward));
  if (Status status = series->makeTensors(); !status)
    return status.error();
  if (Expected<double> run =
          timeKernel(*backward, series->arguments, series->gradients);
      !run)
    return run.error();
  if (!options.saveFolder.empty())
    if (Status status = series->save(options.saveFolder); !status)
      return status.error();
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> VariantGradientSeries::sample() {
  Expected<double> seconds = timeKernel(backward, arguments, gradients);
  if (!seconds)
    return seconds;
  Expected<double> other = forward.run();
  if (!other)
    return other;
  quotients.push_back(*seconds / *other);
  return seconds;
}

void VariantGradientSeries::report(benchmark::State &state) const {
  state.counters["vs_forward"] = median(quotients);
  state.counters["compile_ms"] = backward.stats().totalMs;
}

void registerVariantGradients(const Options &options) {
  for (const GalleryCase &variant : getGalleryCases())
    for (unsigned threads : {1u, 2u})
      registerSeries(
          "variant-gradient/" + variant.name, ElementType::f32, threads, [=] {
            return VariantGradientSeries::create(variant, threads, options);
          });
}

} // namespace attn::bench

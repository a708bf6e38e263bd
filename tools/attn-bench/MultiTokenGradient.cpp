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
// those of a DerivativeSeries.
//
//===----------------------------------------------------------------------===//

#include "attn/gradient.h"
#include "tools/attn-bench/DerivativeSeries.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/MultiTokenCase.h"

#include <algorithm>
#include <cmath>

namespace attn::bench {

namespace {

class MultiTokenGradientSeries : public DerivativeSeries {
public:
  static Expected<std::unique_ptr<Series>>
  create(const MultiTokenCase &attention, ElementType type, unsigned threads,
         const Options &options);

private:
  MultiTokenGradientSeries(const MultiTokenCase &attention, ElementType type,
                           unsigned threads, const Kernel &forward,
                           const Kernel &backward);
  Status check() const;

  MultiTokenCase attention;
  std::vector<Buffer> inputs, gradients;
  Buffer output, outputGradient;
};

} // namespace

MultiTokenGradientSeries::MultiTokenGradientSeries(
    const MultiTokenCase &attention, ElementType type, unsigned threads,
    const Kernel &forward, const Kernel &backward)
    : DerivativeSeries(type, threads, forward, backward,
                       {attention.countFlops(), attention.countFlops(5, 3)}),
      attention(attention), inputs(createInputs(attention, type)),
      output(type, attention.rowSizes()),
      outputGradient(type, attention.rowSizes()) {
  std::mt19937_64 random(2);
  output.fillNormal(random);
  outputGradient.fillNormal(random);
  outputs = {output.view()};
  for (const Buffer &input : inputs) {
    TensorView view = input.view();
    arguments.emplace_back(view);
    gradients
        .emplace_back(
            type, std::vector<Index>(view.sizes().begin(), view.sizes().end()))
        .fillNormal(random);
    results.push_back(gradients.back().view());
  }
  ofDerivative = arguments;
  ofDerivative.emplace_back(outputGradient.view());
}

/// What is fast and wrong is an error. Queries and keys have the same products
/// with their gradients, as products of both are what the loss sees of them;
/// values, and what is linear in the stages behind the softmax, have that of
/// the output.
Status MultiTokenGradientSeries::check() const {
  std::vector<double> products;
  for (std::size_t i = 0; i < results.size(); ++i)
    products.push_back(dot(results[i], *arguments[i].view()));
  double ofOutput = dot(output.view(), outputGradient.view());
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
  if (Status status = series->runBoth(); !status)
    return status.error();
  if (Status status = series->check(); !status)
    return status.error();
  return std::unique_ptr<Series>(std::move(series));
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

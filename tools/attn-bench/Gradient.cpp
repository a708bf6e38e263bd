//===- Gradient.cpp - Measures derivatives beside what they are of --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of query, key and value, from the output and the log-sum-exp of
// the attention, and the tangent of the output along those of all three. Their
// work is five products where the attention has two: 2.5 times as much.
// Counters are those of a DerivativeSeries.
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Values.h"
#include "tools/attn-bench/DerivativeSeries.h"
#include "tools/attn-bench/Families.h"

#include <algorithm>
#include <cmath>

namespace attn::bench {

namespace {

/// Of the sizes of its results.
constexpr double kWork = 2.5;

enum class Mode { Gradient, Tangent };

class GradientSeries : public DerivativeSeries {
public:
  static Expected<std::unique_ptr<Series>>
  create(const AttentionCase &attention, Mode mode, ElementType type,
         unsigned threads, const Options &options);

private:
  GradientSeries(const AttentionCase &attention, Mode mode, ElementType type,
                 unsigned threads, const Kernel &forward,
                 const Kernel &derivative);
  Status check() const;
  Status checkGradients() const;
  Status checkTangent() const;
  double getTolerance() const;

  AttentionCase attention;
  Mode mode;
  ElementType type;
  std::vector<Buffer> buffers;
};

} // namespace

GradientSeries::GradientSeries(const AttentionCase &attention, Mode mode,
                               ElementType type, unsigned threads,
                               const Kernel &forward, const Kernel &derivative)
    : DerivativeSeries(
          type, threads, forward, derivative,
          {attention.countFlops(), kWork * attention.countFlops()}),
      attention(attention), mode(mode), type(type) {
  std::mt19937_64 random(1);
  buffers.reserve(32);
  auto add = [&](ElementType of, std::vector<Index> sizes) {
    buffers.emplace_back(of, std::move(sizes)).fillNormal(random);
    return buffers.back().view();
  };
  std::vector<Index> ofQuery = {1, attention.queryHeads, attention.length,
                                attention.headSize},
                     ofKey = {1, attention.keyValueHeads, attention.length,
                              attention.headSize},
                     ofValue = ofKey, ofOutput = ofQuery;
  ofValue[3] = ofOutput[3] = attention.valueSize();
  for (const std::vector<Index> &sizes : {ofQuery, ofKey, ofValue})
    arguments.emplace_back(add(type, sizes));
  for (const Operand &operand : attention.variant.operands) {
    Buffer &buffer =
        buffers.emplace_back(operand.type.value_or(type), operand.sizes);
    buffer.fill(operand.valueAt);
    arguments.emplace_back(buffer.view());
  }
  outputs = {add(type, ofOutput),
             add(type == ElementType::f64 ? type : ElementType::f32,
                 {1, attention.queryHeads, attention.length})};
  ofDerivative = arguments;
  for (const TensorView &result : outputs)
    ofDerivative.emplace_back(result);
  if (mode == Mode::Gradient) {
    ofDerivative.emplace_back(add(type, ofOutput));
    for (const std::vector<Index> &sizes : {ofQuery, ofKey, ofValue})
      results.push_back(add(type, sizes));
    return;
  }
  // Queries grow as fast as keys shrink, so that no product moves, and values
  // grow: so does the output.
  for (auto [number, factor] : {std::pair(0, 1.0), {1, -1.0}, {2, 1.0}}) {
    const TensorView &of = *arguments[std::size_t(number)].view();
    std::vector<double> elements = *reference::toDoubles("", of);
    Buffer &buffer = buffers.emplace_back(
        type, std::vector<Index>(of.sizes().begin(), of.sizes().end()));
    buffer.fill([&, factor = factor](Index at) {
      return factor * elements[std::size_t(at)];
    });
    ofDerivative.emplace_back(buffer.view());
  }
  results.push_back(add(type, ofOutput));
}

double GradientSeries::getTolerance() const {
  return type == ElementType::bf16  ? 3e-2
         : type == ElementType::f16 ? 4e-3
                                    : 1e-4;
}

/// What is fast and wrong is an error.
Status GradientSeries::check() const {
  return mode == Mode::Gradient ? checkGradients() : checkTangent();
}

/// The output moves as fast as it is.
Status GradientSeries::checkTangent() const {
  std::vector<double> output = *reference::toDoubles("", outputs[0]),
                      tangent = *reference::toDoubles("", results[0]);
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    error = std::fmax(error, std::fabs(output[i] - tangent[i]));
    largest = std::fmax(largest, std::fabs(output[i]));
  }
  if (error <= getTolerance() * largest)
    return {};
  return Error{"tangent: expected the output, got what is off by " +
                   std::to_string(error),
               {}};
}

/// Queries and keys have the same products with their gradients, as products of
/// both are what the loss sees of them; values have that of the output, which
/// is linear in them.
Status GradientSeries::checkGradients() const {
  const TensorView &query = *arguments[0].view(), &key = *arguments[1].view(),
                   &value = *arguments[2].view(),
                   &outputGradient = *ofDerivative.back().view();
  double tolerance = getTolerance();
  auto compare = [&](double actual, double expected,
                     const char *name) -> Status {
    // Both are sums of about as many terms of size 1 as there are rows.
    double scale = std::sqrt(
        double(attention.queryHeads * attention.length * attention.headSize));
    if (std::fabs(actual - expected) <=
        tolerance * std::max(scale, std::fabs(expected)))
      return {};
    return Error{std::string("gradient of ") + name +
                     ": expected a product of " + std::to_string(expected) +
                     ", got " + std::to_string(actual),
                 {}};
  };
  if (Status status = compare(dot(results[0], query), dot(results[1], key),
                              "the query and the key");
      !status)
    return status;
  return compare(dot(results[2], value), dot(outputs[0], outputGradient),
                 "the value");
}

Expected<std::unique_ptr<Series>>
GradientSeries::create(const AttentionCase &attention, Mode mode,
                       ElementType type, unsigned threads,
                       const Options &options) {
  std::string text = attention.text(type, /*logSumExp=*/true);
  Expected<Kernel> forward =
      compileText(attention.name, text, threads, options);
  if (!forward)
    return forward.error();
  GradientOptions of{
      .of = {"query", "key", "value"}, .results = {0}, .saved = true};
  Expected<std::string> differentiated = mode == Mode::Gradient
                                             ? differentiate(text, of)
                                             : differentiateForward(text, of);
  if (!differentiated)
    return differentiated.error();
  Expected<Kernel> derivative =
      compileText(attention.name, *differentiated, threads, options);
  if (!derivative)
    return derivative.error();
  std::unique_ptr<GradientSeries> series(new GradientSeries(
      attention, mode, type, threads, *forward, *derivative));
  if (Status status = series->runBoth(); !status)
    return status.error();
  if (Status status = series->check(); !status)
    return status.error();
  return std::unique_ptr<Series>(std::move(series));
}

void registerGradient(const Options &options) {
  for (const AttentionCase &attention : getPrefillCases())
    for (ElementType type :
         {ElementType::f32, ElementType::bf16, ElementType::f16})
      for (unsigned threads : {1u, 2u})
        for (auto [name, mode] : {std::pair("gradient/", Mode::Gradient),
                                  std::pair("tangent/", Mode::Tangent)})
          registerSeries(name + attention.name, type, threads,
                         [=, mode = mode] {
                           return GradientSeries::create(attention, mode, type,
                                                         threads, options);
                         });
}

} // namespace attn::bench

//===- Compare.cpp - How far a result is from the oracle's ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

using namespace attn;
using namespace attn::reference;

Tolerance attn::reference::toleranceFor(ElementType inputs, Quantity quantity) {
  if (quantity == Quantity::logSumExp && isFloat(inputs) &&
      inputs != ElementType::f64)
    return {1e-5, /*relative=*/false};
  bool isGradient = quantity == Quantity::gradient;
  switch (inputs) {
  case ElementType::f64:
    return {isGradient ? 1e-9 : 1e-12, /*relative=*/true};
  case ElementType::f32:
    return {isGradient                               ? 1e-5
            : quantity == Quantity::multiTokenOutput ? 5e-6
                                                     : 2e-6,
            /*relative=*/true};
  case ElementType::f16:
    return {isGradient ? 4e-3 : 2e-3, /*relative=*/true,
            /*smallest=*/0x1p-24};
  case ElementType::bf16:
    return {isGradient ? 3.2e-2 : 1.6e-2, /*relative=*/true};
  case ElementType::f8e4m3fn: // The next number.
    return {0x1p-3, /*relative=*/true, /*smallest=*/0x1p-9,
            /*ofElement=*/true};
  case ElementType::f8e5m2:
    return {0x1p-2, /*relative=*/true, /*smallest=*/0x1p-16,
            /*ofElement=*/true};
  default:
    return {0, /*relative=*/false};
  }
}

Tolerance attn::reference::toleranceForQuantizedQueries(Quantity quantity) {
  return {2e-2, /*relative=*/quantity != Quantity::logSumExp};
}

/// |a - b|, where equals are 0 apart even if they are not finite.
static double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  if (!std::isfinite(a) || !std::isfinite(b))
    return std::numeric_limits<double>::infinity();
  return std::abs(a - b);
}

Expected<Comparison> attn::reference::compare(std::span<const double> actual,
                                              std::span<const double> expected,
                                              const Tolerance &tolerance,
                                              std::span<const double> scales) {
  if (actual.size() != expected.size())
    return Error{"expected " + std::to_string(expected.size()) +
                     " elements, got " + std::to_string(actual.size()),
                 {}};
  if (!scales.empty() && scales.size() != expected.size())
    return Error{"expected " + std::to_string(expected.size()) +
                     " scales, got " + std::to_string(scales.size()),
                 {}};
  Comparison result;
  double largest = 0;
  for (double value : expected)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double scale = scales.empty() ? 0 : scales[i];
    if (scale < 0) {
      ++result.unknown;
      continue;
    }
    double error = distance(actual[i], expected[i]);
    if (error <= tolerance.smallest)
      continue;
    if (tolerance.relative && error > 0)
      error /= tolerance.ofElement
                   ? std::abs(expected[i])
                   : std::max(largest, scale); // Infinite if all is 0.
    if (error <= result.error)
      continue;
    result.error = error;
    result.index = std::int64_t(i);
    result.actual = actual[i];
    result.expected = expected[i];
  }
  result.passed = result.error <= tolerance.bound;
  return result;
}

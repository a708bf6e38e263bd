//===- Sampler.cpp - The next token of logits -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace smollm2;

std::int32_t Sampler::sample(std::span<const float> logits) {
  auto most = std::ranges::max_element(logits);
  if (temperature == 0)
    return std::int32_t(most - logits.begin());
  // Running sums, of which the one that a random part of the last falls in is
  // found; the same on every platform, as std::discrete_distribution is not.
  std::vector<double> sums;
  double sum = 0;
  for (float logit : logits)
    sums.push_back(sum += std::exp((double(logit) - *most) / temperature));
  double point = std::ldexp(double(generator() >> 11), -53) * sum;
  auto found = std::ranges::upper_bound(sums, point);
  return std::int32_t(std::min(found, sums.end() - 1) - sums.begin());
}

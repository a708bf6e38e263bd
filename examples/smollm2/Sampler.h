//===- Sampler.h - The next token of logits ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_SAMPLER_H
#define ATTN_EXAMPLES_SMOLLM2_SAMPLER_H

#include <cstdint>
#include <random>
#include <span>

namespace smollm2 {

/// Chooses tokens: always the most likely one, the first of equals, at
/// temperature 0, else from softmax(logits / temperature).
class Sampler {
public:
  Sampler(double temperature, std::uint64_t seed)
      : temperature(temperature), generator(seed) {}

  std::int32_t sample(std::span<const float> logits);

private:
  double temperature;
  std::mt19937_64 generator;
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_SAMPLER_H

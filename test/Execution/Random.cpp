//===- Random.cpp - Choices of the random tests ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Random.h"

#include <cmath>
#include <utility>

using namespace attn::test;

// By Marsaglia's polar method. What <random> has takes several times as long:
// it computes a logarithm of `long double` for each uniform number.
double Random::normal() {
  if (spare)
    return *std::exchange(spare, std::nullopt);
  auto uniform = [&] { return double(engine() >> 11) * 0x1p-52 - 1; };
  double x = 0, y = 0, square = 0;
  while (square >= 1 || square == 0) {
    x = uniform();
    y = uniform();
    square = x * x + y * y;
  }
  double factor = std::sqrt(-2 * std::log(square) / square);
  spare = x * factor;
  return y * factor;
}

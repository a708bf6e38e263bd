//===- Random.h - Choices of the random tests -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_RANDOM_H
#define ATTN_TEST_EXECUTION_RANDOM_H

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

namespace attn::test {

/// How many cases a random test runs where that of the optimised build runs
/// `count`. Under sanitizers each takes three times as long, and code that is
/// not generated, which they watch, does much the same in all.
constexpr int numCases(int count) {
#ifdef ATTN_FEW_CASES
  return (count + 3) / 4;
#else
  return count;
#endif
}

/// The same seed makes the same choices.
class Random {
public:
  explicit Random(std::uint64_t seed) : engine(seed) {}

  std::uint64_t bits() { return engine(); }
  /// From `low` to `high`, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + std::int64_t(engine() % std::uint64_t(high - low + 1));
  }
  bool chance(double probability) {
    return double(engine() >> 11) * 0x1p-53 < probability;
  }
  double normal() { return distribution(engine); }
  template <typename T> T pick(const std::vector<T> &choices) {
    return choices[std::size_t(between(0, std::int64_t(choices.size()) - 1))];
  }

private:
  std::mt19937_64 engine;
  std::normal_distribution<double> distribution;
};

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_RANDOM_H

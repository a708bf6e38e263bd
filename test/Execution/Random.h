//===- Random.h - Choices of the random tests -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_RANDOM_H
#define ATTN_TEST_EXECUTION_RANDOM_H

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

namespace attn::test {

/// Whether tests run all of their cases: where the environment has
/// ATTN_ALL_CASES, as `scripts/test.sh --all` sees to.
inline bool runsAllCases() { return std::getenv("ATTN_ALL_CASES"); }

/// How many of `count` cases a random test runs: an eighth, or all of them.
inline int numCases(int count) {
  return runsAllCases() ? count : (count + 7) / 8;
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
  double normal();
  template <typename T> T pick(const std::vector<T> &choices) {
    return choices[std::size_t(between(0, std::int64_t(choices.size()) - 1))];
  }

private:
  std::mt19937_64 engine;
  std::optional<double> spare; ///< Normal numbers come in pairs.
};

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_RANDOM_H

//===- Seeds.h - Seeds of the random tests ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_SEEDS_H
#define ATTN_TEST_EXECUTION_SEEDS_H

#include "test/Execution/Random.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>

namespace attn::test {

/// The one seed that ATTN_SEED in the environment asks for.
inline std::optional<std::uint64_t> getOnlySeed() {
  const char *text = std::getenv("ATTN_SEED");
  if (!text)
    return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

/// Runs `test` with `count` seeds from `first` on, until one fails, or with the
/// one seed that is asked for.
inline void forSeeds(std::uint64_t first, int count,
                     const std::function<void(std::uint64_t seed)> &test) {
  std::uint64_t end = first + std::uint64_t(count);
  if (std::optional<std::uint64_t> only = getOnlySeed()) {
    first = *only;
    end = first + 1;
  }
  for (std::uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE(testing::Message() << "ATTN_SEED=" << seed);
    test(seed);
    if (testing::Test::HasFailure())
      return;
  }
}

/// Runs `test` so with the choices of each seed.
inline void forSeeds(std::uint64_t first, int count,
                     const std::function<void(Random &)> &test) {
  forSeeds(first, count, [&](std::uint64_t seed) {
    Random random(seed);
    test(random);
  });
}

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_SEEDS_H

//===- Stopwatch.h - Seconds that pass --------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_STOPWATCH_H
#define ATTN_EXAMPLES_SMOLLM2_STOPWATCH_H

#include <chrono>

namespace smollm2 {

/// Seconds since it was made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_STOPWATCH_H

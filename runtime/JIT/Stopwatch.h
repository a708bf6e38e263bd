//===- Stopwatch.h - Times of compilation stages ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_STOPWATCH_H
#define ATTN_RUNTIME_JIT_STOPWATCH_H

#include <chrono>

namespace attn::jit {

/// Measures stages that follow each other.
class Stopwatch {
public:
  /// Milliseconds since construction or the last lap.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    std::chrono::duration<double, std::milli> elapsed = now - start;
    start = now;
    return elapsed.count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_STOPWATCH_H

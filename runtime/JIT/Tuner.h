//===- Tuner.h - Looks for the best plans -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_TUNER_H
#define ATTN_RUNTIME_JIT_TUNER_H

#include "attn/tuning.h"
#include "runtime/JIT/Plans.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <cstdint>
#include <set>

namespace attn::jit {

/// A call to measure kernels by.
struct MeasuredCall {
  std::span<const Argument> arguments;
  std::span<const TensorView> results;
};

/// Climbs from the compiler's plans to faster neighbours, one number of one op
/// at a time, until none is faster or the time is over. Kernels are measured in
/// turns: processors are shared and change their clocks.
class Tuner {
public:
  using Compile = llvm::function_ref<Expected<Kernel>(const Plans &)>;
  using Propose =
      llvm::function_ref<Expected<std::vector<Plans>>(const Plans &)>;

  Tuner(Compile compile, Propose propose, MeasuredCall call,
        const TuningOptions &options)
      : compile(compile), propose(propose), call(call), options(options) {}

  struct Outcome {
    Plans plans; ///< Nothing but empty ones: the compiler's own.
    double timesFaster = 1;
    std::size_t numTried = 0;
    bool isComplete = false;
  };
  /// An error if the call fails.
  Expected<Outcome> run();

private:
  /// How many times faster `other` is than `kernel`, and how far the median of
  /// the pairs may be off.
  struct Speed {
    double timesFaster, error;
    bool isFaster() const;
  };
  Expected<Speed> compare(const Kernel &kernel, const Kernel &other,
                          double seconds);
  /// Seconds of a call, the mean of `numCalls`.
  Expected<double> time(const Kernel &kernel, std::size_t numCalls);
  void clearCaches();
  bool isOver() const;
  Expected<bool> climb(std::size_t op, const Plans &neighbours);

  Compile compile;
  Propose propose;
  MeasuredCall call;
  const TuningOptions &options;
  std::chrono::steady_clock::time_point start;
  std::vector<std::uint64_t> other; ///< Memory that fills the caches.
  std::optional<Kernel> best;
  std::set<Plans> tried;
  Outcome outcome;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_TUNER_H

//===- Tuner.cpp - Looks for the best plans -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Tuner.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>

using namespace attn;
using namespace attn::jit;
using std::chrono::steady_clock;

/// Less than this is not worth another order of sums.
static constexpr double leastGain = 0.02;
/// Of the pairs of calls that tell whether a plan is worth more of them, and of
/// those that decide.
static constexpr double glanceSeconds = 0.1, decisionSeconds = 0.5;
/// A sample, to be long beside what a clock and a call cost.
static constexpr double sampleSeconds = 2e-3;

bool Tuner::isOver() const {
  std::chrono::duration<double> elapsed = steady_clock::now() - start;
  return elapsed.count() >= options.seconds;
}

bool Tuner::Speed::isFaster() const {
  return timesFaster > 1 + std::max(leastGain, 2 * error);
}

/// Bytes of the last level of the caches, where the system knows them.
static std::size_t getLastLevelBytes() {
  constexpr long least = 16 << 20, most = 512 << 20, unknown = 64 << 20;
  long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return std::size_t(std::clamp(bytes > 0 ? bytes : unknown, least, most));
}

void Tuner::clearCaches() {
  if (!options.isCold)
    return;
  if (other.empty())
    other.resize(getLastLevelBytes() / sizeof(other.front()));
  // A line each; written, so that the compiler keeps it.
  for (std::size_t i = 0; i < other.size(); i += 8)
    ++other[i];
}

Expected<double> Tuner::time(const Kernel &kernel, std::size_t numCalls) {
  clearCaches();
  auto begin = steady_clock::now();
  for (std::size_t i = 0; i < numCalls; ++i)
    if (Status status = kernel.run(call.arguments, call.results); !status)
      return status.error();
  std::chrono::duration<double> elapsed = steady_clock::now() - begin;
  return elapsed.count() / double(numCalls);
}

static double takeMedian(std::vector<double> &numbers) {
  auto middle = numbers.begin() + std::ptrdiff_t(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

Expected<Tuner::Speed> Tuner::compare(const Kernel &kernel, const Kernel &other,
                                      double seconds) {
  // The first call of each maps and warms what the next ones use.
  Expected<double> once = time(other, 1);
  if (once)
    once = time(kernel, 1);
  if (!once)
    return std::move(once).error();
  double ofCall = std::max(*once, 1e-9);
  // After the first, they would not be cold.
  auto numCalls =
      options.isCold
          ? std::size_t(1)
          : std::size_t(std::clamp(sampleSeconds / ofCall, 1.0, 1e5));
  double ofPair = 2 * ofCall * double(numCalls);
  auto numPairs = std::size_t(std::clamp(seconds / ofPair, 5.0, 51.0));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < numPairs; ++i) {
    // Each goes first half of the time.
    bool isSwapped = i % 2 == 1;
    Expected<double> first = time(isSwapped ? other : kernel, numCalls);
    if (!first)
      return std::move(first).error();
    Expected<double> second = time(isSwapped ? kernel : other, numCalls);
    if (!second)
      return std::move(second).error();
    ratios.push_back(isSwapped ? *second / *first : *first / *second);
  }
  double median = takeMedian(ratios);
  for (double &ratio : ratios)
    ratio = std::abs(ratio - median);
  // The error of a median, from the median of the deviations, as if they were
  // normally distributed.
  double deviation = 1.4826 * takeMedian(ratios);
  return Speed{median, 1.2533 * deviation / std::sqrt(double(numPairs))};
}

/// Tries `neighbours` of one op. True if one of them was faster.
Expected<bool> Tuner::climb(std::size_t op, const Plans &neighbours) {
  bool isFaster = false;
  for (const std::string &plan : neighbours) {
    Plans plans = outcome.plans;
    plans[op] = plan;
    if (isOver())
      break;
    if (!tried.insert(plans).second)
      continue;
    Expected<Kernel> kernel = compile(plans);
    if (!kernel) // Not all that cannot be carried out shows in a plan.
      continue;
    ++outcome.numTried;
    Expected<Speed> speed = compare(*best, *kernel, glanceSeconds);
    if (speed && speed->timesFaster > 1)
      speed = compare(*best, *kernel, decisionSeconds);
    if (!speed)
      return std::move(speed).error();
    TuningStep step = {op, plan, speed->timesFaster, speed->isFaster()};
    if (options.progress)
      options.progress(step);
    if (!step.isKept)
      continue;
    best = *kernel;
    outcome.plans = plans;
    isFaster = true;
    // Others differ from what is no longer the best.
    break;
  }
  return isFaster;
}

Expected<Tuner::Outcome> Tuner::run() {
  start = steady_clock::now();
  Expected<Kernel> planned = compile({});
  if (!planned)
    return std::move(planned).error();
  best = *planned;
  Expected<std::vector<Plans>> proposals = propose({});
  if (!proposals)
    return std::move(proposals).error();
  const Plans none(proposals->size());
  outcome.plans = none;
  tried.insert(none);
  if (Status status = best->run(call.arguments, call.results); !status)
    return status.error();
  // One op after the other, until no op has a faster neighbour.
  for (bool isAnyFaster = true; isAnyFaster && !isOver();) {
    isAnyFaster = false;
    for (std::size_t op = 0; op < none.size(); ++op)
      for (bool isFaster = true; isFaster && !isOver();) {
        Expected<bool> climbed = climb(op, (*proposals)[op]);
        if (!climbed)
          return std::move(climbed).error();
        isFaster = *climbed;
        if (!isFaster)
          break;
        isAnyFaster = true;
        proposals = propose(outcome.plans);
        if (!proposals)
          return std::move(proposals).error();
      }
    outcome.isComplete = !isAnyFaster && !isOver();
  }
  if (outcome.plans == none)
    return outcome;
  // Of many that were measured, one is the best by chance.
  Expected<Speed> speed = compare(*planned, *best, 2 * decisionSeconds);
  if (!speed)
    return std::move(speed).error();
  if (speed->isFaster())
    outcome.timesFaster = speed->timesFaster;
  else
    outcome.plans = none;
  return outcome;
}

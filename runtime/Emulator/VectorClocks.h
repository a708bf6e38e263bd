//===- VectorClocks.h - What threads know of each other ------ -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_VECTORCLOCKS_H
#define ATTN_RUNTIME_EMULATOR_VECTORCLOCKS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn::emulator {

/// Which accesses to memory each thread of a block knows to have taken place:
/// vector clocks, as race detectors keep them (Flanagan and Freund, FastTrack,
/// PLDI 2009). A thread's time goes on when it lets others know.
class VectorClocks {
public:
  using Time = std::uint32_t;
  /// A time of each thread, or nothing.
  using Clock = std::vector<Time>;

  void reset(std::size_t numThreads);

  /// Adds what accesses memory at times that are not those of `owner`, a thread
  /// that has made it do so. It has a number as threads do, and knows nothing.
  unsigned addAgent(unsigned owner);
  /// The thread that an agent is of; a thread itself.
  unsigned getOwner(unsigned threadOrAgent) const {
    return owners[threadOrAgent];
  }

  Time now(unsigned thread) const { return clocks[thread][thread]; }
  /// Whether `thread` knows of what `other` did at `time`.
  bool knows(unsigned thread, unsigned other, Time time) const {
    return clocks[thread][other] >= time;
  }
  /// Adds to `clock` what another one holds.
  static void join(Clock &clock, const Clock &other);
  /// Adds to `clock` what `thread` knows and did until now.
  void release(unsigned thread, Clock &clock);
  /// Makes it known to `thread`.
  void acquire(unsigned thread, const Clock &clock);
  /// Makes known to `thread` what `other` knows and did until now.
  void acquireFrom(unsigned thread, unsigned other) {
    acquire(thread, clocks[other]);
  }
  /// Makes known to `thread` what `other` did itself before its time went on.
  void acquireOwn(unsigned thread, unsigned other) {
    clocks[thread][other] = clocks[other][other] - 1;
  }
  void advance(unsigned thread) { ++clocks[thread][thread]; }

private:
  std::vector<Clock> clocks;
  std::vector<unsigned> owners;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_VECTORCLOCKS_H

//===- ProcessorTime.h - Time that had a processor --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PROCESSORTIME_H
#define ATTN_TOOLS_ATTN_BENCH_PROCESSORTIME_H

#include <ctime>
#include <vector>

namespace attn::bench {

inline double getSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// Seconds that the calling thread has had a processor.
inline double getThreadSeconds() { return getSeconds(CLOCK_THREAD_CPUTIME_ID); }

/// The seconds that threads have had a processor, added up: of the calling one,
/// or of all that the process has when this is made.
class BusyClock {
public:
  explicit BusyClock(bool ofAllThreads);
  double getSeconds() const;

private:
  std::vector<clockid_t> clocks;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_PROCESSORTIME_H

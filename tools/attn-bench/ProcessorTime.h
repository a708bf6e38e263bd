//===- ProcessorTime.h - Time that had a processor --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PROCESSORTIME_H
#define ATTN_TOOLS_ATTN_BENCH_PROCESSORTIME_H

#include <ctime>

namespace attn::bench {

inline double getSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// Seconds that the calling thread has had a processor.
inline double getThreadSeconds() { return getSeconds(CLOCK_THREAD_CPUTIME_ID); }

/// Seconds that all threads of the process have had one, added up.
inline double getProcessSeconds() {
  return getSeconds(CLOCK_PROCESS_CPUTIME_ID);
}

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_PROCESSORTIME_H

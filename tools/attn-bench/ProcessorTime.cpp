//===- ProcessorTime.cpp - Time that had a processor ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/ProcessorTime.h"

#include <charconv>
#include <filesystem>
#include <string>

using namespace attn::bench;

// The sum that Linux keeps for a process has what other threads had up to their
// last tick, which may be longer ago than a call takes. A thread's own clock
// has all; these are numbered as pthread_getcpuclockid does.
BusyClock::BusyClock(bool ofAllThreads) {
  if (!ofAllThreads) {
    clocks = {CLOCK_THREAD_CPUTIME_ID};
    return;
  }
#if defined(__linux__)
  std::error_code error;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = task.path().filename();
    unsigned thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    clocks.push_back(clockid_t(~thread << 3 | 6U));
  }
#endif
  if (clocks.empty())
    clocks = {CLOCK_PROCESS_CPUTIME_ID};
}

double BusyClock::getSeconds() const {
  double sum = 0;
  for (clockid_t clock : clocks)
    sum += bench::getSeconds(clock);
  return sum;
}

//===- ThreadTeam.h - Threads that work at the same time ------ -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_THREADTEAM_H
#define ATTN_TOOLS_ATTN_BENCH_THREADTEAM_H

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace attn::bench {

/// Threads that measure the machine together: they share what they have to
/// share, as memory, power and a clock.
class ThreadTeam {
public:
  /// Starts `size - 1` threads, which sleep between tasks: the caller is the
  /// first of the team.
  explicit ThreadTeam(unsigned size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  unsigned size() const { return unsigned(threads.size()) + 1; }

  /// Calls `task` with the number of each thread on that thread when all of
  /// them have come. Returns when the last is done.
  void run(const std::function<void(unsigned)> &task);

private:
  void runTogether(unsigned index);
  void work(unsigned index);

  const std::function<void(unsigned)> *current = nullptr;
  unsigned count;
  std::atomic<unsigned> round = 0; ///< Threads wait for it to change.
  std::atomic<unsigned> arrived = 0, finished = 0;
  std::atomic<bool> stopping = false;
  std::vector<std::thread> threads;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_THREADTEAM_H

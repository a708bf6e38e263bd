//===- ThreadTeam.cpp - Threads that work at the same time ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/ThreadTeam.h"

using namespace attn::bench;

ThreadTeam::ThreadTeam(unsigned size) : count(size) {
  for (unsigned index = 1; index < size; ++index)
    threads.emplace_back([this, index] { work(index); });
}

ThreadTeam::~ThreadTeam() {
  stopping = true;
  ++round;
  round.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadTeam::runTogether(unsigned index) {
  ++arrived;
  while (arrived < count)
    std::this_thread::yield();
  (*current)(index);
}

void ThreadTeam::work(unsigned index) {
  for (unsigned seen = 0;; ++seen) {
    round.wait(seen);
    if (stopping)
      return;
    runTogether(index);
    ++finished;
  }
}

void ThreadTeam::run(const std::function<void(unsigned)> &task) {
  current = &task;
  arrived = 0;
  finished = 0;
  ++round;
  round.notify_all();
  runTogether(0);
  while (finished < count - 1)
    std::this_thread::yield();
}

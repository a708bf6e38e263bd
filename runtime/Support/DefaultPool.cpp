//===- DefaultPool.cpp - Threads for hosts that bring none ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneTBB: one pool for the process, shared with whatever else in it uses TBB,
// so that engines, or threads that call at once, do not start more threads than
// there are processors. It runs a few tasks in less than a microsecond.
//
// A file of its own, because ThreadSanitizer cannot follow TBB: the build
// leaves it uninstrumented.
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/DefaultPool.h"

#include <algorithm>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

static void runTasks(int count, void (*task)(void *, int), void *context) {
  count = std::min(count, tbb::this_task_arena::max_concurrency());
  tbb::task_group others;
  try {
    for (int i = 1; i < count; ++i)
      others.run([task, context, i] { task(context, i); });
  } catch (...) { // NOLINT(bugprone-empty-catch)
    // No memory for a task: those that are there do its work.
  }
  task(context, 0);
  others.wait();
}

// The number of tasks limits the number of threads, so there is no need of an
// arena, which would make the calling thread an outsider. But without isolation
// a thread that waits for a loop could start a task of the host's own.
void attn::support::runOnDefaultPool(int count, void (*task)(void *, int),
                                     void *context) {
  tbb::this_task_arena::isolate([=] { runTasks(count, task, context); });
}

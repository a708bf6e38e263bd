//===- HostPool.cpp - Threads that a host brings --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/HostPool.h"
#include "runtime/Support/Call.h"

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>

using namespace attn;
using namespace attn::support;

namespace {
/// The tasks of one loop, as a pool takes them. A pool that throws may hold
/// some that run, and others that start when the loop is gone.
class HostTasks {
public:
  HostTasks(void (*task)(void *, int), void *context)
      : function([this](int index) { run(index); }), task(task),
        context(context) {}

  /// Waits for the tasks that run; those that start later do nothing.
  void close() {
    std::unique_lock lock(mutex);
    isClosed = true;
    isIdle.wait(lock, [this] { return numRunning == 0; });
  }

  const ParallelTask function;
  /// The one that was kept before this one.
  std::unique_ptr<HostTasks> previous;

private:
  void run(int index) {
    {
      std::lock_guard lock(mutex);
      if (isClosed)
        return;
      ++numRunning;
    }
    task(context, index);
    std::lock_guard lock(mutex);
    if (--numRunning == 0)
      isIdle.notify_all();
  }

  void (*const task)(void *, int);
  void *const context;
  std::mutex mutex;
  std::condition_variable isIdle;
  int numRunning = 0;
  bool isClosed = false;
};
} // namespace

/// Keeps what a pool that failed may still call, for as long as the process
/// lives: nobody knows when the pool has forgotten it.
static void keep(std::unique_ptr<HostTasks> tasks) {
  static std::mutex mutex;
  static HostTasks *last = nullptr;
  std::lock_guard lock(mutex);
  tasks->previous.reset(last);
  last = tasks.release();
}

const char *attn::support::runOnHostPool(const ParallelFor &pool, int count,
                                         void (*task)(void *, int),
                                         void *context) {
  std::unique_ptr<HostTasks> tasks;
  char message[512];
  constexpr const char *format =
      "parallelFor: expected no exception, got %s%s%s";
  try {
    tasks = std::make_unique<HostTasks>(task, context);
    pool(count, tasks->function);
    return nullptr;
  } catch (const std::exception &exception) {
    // Without a string: there may be no memory, and nothing may be thrown here.
    std::snprintf(message, sizeof(message), format, "'", exception.what(), "'");
  } catch (...) {
    std::snprintf(message, sizeof(message), format, "one of an unknown type",
                  "", "");
  }
  if (tasks) {
    tasks->close();
    keep(std::move(tasks));
  }
  return keepMessage(message);
}

ParallelFor attn::support::convertParallelFor(attn_parallel_for pool,
                                              void *context) {
  if (!pool)
    return {};
  return [pool, context](int count, const ParallelTask &task) {
    auto call = [](void *task, int index) {
      (*static_cast<const ParallelTask *>(task))(index);
    };
    pool(context, count, call, const_cast<ParallelTask *>(&task));
  };
}

//===- ParallelFor.cpp - Parallel loops of generated code -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/ParallelFor.h"
#include "runtime/Support/Call.h"
#include "runtime/Support/DefaultPool.h"
#include "runtime/Support/HostPool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

using namespace attn::support;

namespace attn::support {
/// One loop, which several threads work on.
///
/// Each task has a share of the indices, and helps with the others' when it is
/// done with its own. So a thread finds in its caches what the loop before
/// wrote, of the same call or of the last one: with the same tasks, it is the
/// same shares.
///
/// Who runs tasks may be uninstrumented, so the atomics here order everything
/// that threads hand to each other in a way that ThreadSanitizer sees.
class ParallelLoop {
public:
  ParallelLoop(ParallelBody body, void *context, std::int64_t count,
               int numTasks)
      : body(body), context(context),
        numShares(std::min(numTasks, maximumShares)), failedBegin(count) {
    std::int64_t size = count / numShares, rest = count % numShares, begin = 0;
    for (int i = 0; i < numShares; ++i) {
      shares[i].next.store(begin, std::memory_order_relaxed);
      begin += size + (i < rest);
      shares[i].end = begin;
    }
    limit.store(count, std::memory_order_release);
  }

  /// Runs ranges until there are none left, those of the task's share first.
  void work(int task) {
    CallRecord record; // Without threads: a loop in this one runs right here.
    (void)limit.load(std::memory_order_acquire);
    ParallelRange range{.begin = 0, .end = 0, .loop = this, .task = task};
    while (takeNext(range)) {
      if (const char *message = runGuarded(body, context, &range, record))
        fail(range.begin, message, record);
      if (record.report.text)
        add(record.report);
    }
    numFinished.fetch_add(1, std::memory_order_acq_rel);
  }

  /// Moves `range` to the next indices for its task. False if none are left.
  bool takeNext(ParallelRange &range) {
    for (; range.numSharesDone < numShares; ++range.numSharesDone) {
      unsigned share = unsigned(range.task) + unsigned(range.numSharesDone);
      if (takeRange(shares[share % unsigned(numShares)], range))
        return true;
    }
    return false;
  }

  /// After the last task has returned: the first of what was reported.
  const Report &getReport() const {
    (void)numFinished.load(std::memory_order_acquire);
    return report;
  }

  /// After the last task has returned: why the loop failed, or null. A message
  /// that was made while it ran is moved to `record`.
  const char *takeFailure(CallRecord &record) {
    (void)numFinished.load(std::memory_order_acquire);
    if (!message)
      return nullptr;
    if (message != text)
      return message;
    std::memcpy(record.text, text, sizeof(text));
    return record.text;
  }

private:
  /// Apart, so that threads meet only where they help each other.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  static constexpr int maximumShares = 64;

  /// The larger, the more often threads meet at `next`; the smaller, the longer
  /// they wait for one that took too much.
  static constexpr std::int64_t rangesPerShare = 8;

  /// Ranges are taken in order and become smaller, so that work that is uneven,
  /// as under a causal mask, is even at the end.
  bool takeRange(Share &share, ParallelRange &range) {
    std::int64_t begin = share.next.load(std::memory_order_acquire), end;
    do {
      if (begin >= share.end || begin >= limit.load(std::memory_order_acquire))
        return false;
      end = begin +
            std::max<std::int64_t>(1, (share.end - begin) / rangesPerShare);
    } while (!share.next.compare_exchange_weak(begin, end,
                                               std::memory_order_acq_rel));
    range.begin = begin;
    range.end = end;
    return true;
  }

  /// What is below a failed range is still run, so which one is the first does
  /// not depend on the threads.
  void fail(std::int64_t begin, const char *why, const CallRecord &record) {
    std::lock_guard lock(mutex);
    if (begin >= failedBegin)
      return;
    failedBegin = begin;
    limit.store(begin, std::memory_order_release);
    message = why;
    if (why == record.text) {
      std::memcpy(text, record.text, sizeof(text));
      message = text;
    }
  }

  void add(const Report &other) {
    std::lock_guard lock(mutex);
    report.merge(other);
  }

  const ParallelBody body;
  void *const context;
  const int numShares;
  Share shares[maximumShares];

  std::atomic<std::int64_t> limit; ///< No range from here on is started.
  std::atomic<int> numFinished = 0;

  std::mutex mutex;
  std::int64_t failedBegin;
  const char *message = nullptr;
  char text[sizeof(CallRecord::text)];
  Report report;
};
} // namespace attn::support

/// Apart from its caller, so that a failing call jumps over no destructor.
static const char *runInParallel(ParallelBody body, void *context,
                                 std::int64_t count, const Threads &threads,
                                 CallRecord &call) {
  auto numTasks = int(std::min<std::int64_t>(threads.count, count));
  ParallelLoop loop(body, context, count, numTasks);
  auto work = [](void *loop, int task) {
    static_cast<ParallelLoop *>(loop)->work(task);
  };
  if (!threads.host)
    runOnDefaultPool(numTasks, work, &loop);
  else if (const char *message =
               runOnHostPool(threads.host, numTasks, work, &loop))
    return message;
  // A host that is shutting down may not have run all tasks.
  loop.work(0);
  call.report.merge(loop.getReport());
  return loop.takeFailure(call);
}

void attn_rt_parallel_ranges(ParallelBody body, void *context,
                             std::int64_t count) {
  if (count <= 0)
    return;
  CallRecord &call = getCurrentCall();
  if (!call.threads || call.threads->count <= 1 || count == 1) {
    ParallelRange all{.begin = 0, .end = count};
    return body(context, &all);
  }
  if (const char *message =
          runInParallel(body, context, count, *call.threads, call))
    attn_rt_fail(message);
}

ParallelRange *attn_rt_next_range(ParallelRange *range) {
  return range->loop && range->loop->takeNext(*range) ? range : nullptr;
}

//===- SupportParallelForTest.cpp - Parallel loops of generated code ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/Call.h"
#include "runtime/Support/ParallelFor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace attn;
using namespace attn::support;

namespace {

using Body = std::function<void(std::int64_t begin, std::int64_t end)>;

void callBody(void *body, ParallelRange *range) {
  do
    (*static_cast<Body *>(body))(range->begin, range->end);
  while ((range = attn_rt_next_range(range)));
}

/// What generated code does.
void parallelFor(std::int64_t count, Body &body) {
  attn_rt_parallel_ranges(callBody, &body, count);
}

/// Runs `function` as a call of generated code. Gives the reason if it failed,
/// else nothing. A failure jumps, so `function` and what it calls must not hold
/// anything with a destructor then.
std::string run(const Threads &threads, std::function<void()> function) {
  CallRecord record;
  record.threads = &threads;
  void *arguments = &function;
  const char *message = runGuarded(
      [](void **arguments) {
        (*reinterpret_cast<std::function<void()> *>(arguments))();
      },
      static_cast<void **>(arguments), record);
  return message ? message : "";
}

/// How often a loop visits each index.
std::vector<int> countVisits(const Threads &threads, std::int64_t count) {
  std::vector<int> visits(std::size_t(std::max<std::int64_t>(count, 0)));
  Body body = [&](std::int64_t begin, std::int64_t end) {
    EXPECT_LT(begin, end);
    for (std::int64_t i = begin; i < end; ++i)
      ++visits[std::size_t(i)]; // Would be a race if two ranges had it.
  };
  EXPECT_EQ(run(threads, [&] { parallelFor(count, body); }), "");
  return visits;
}

/// A pool that starts a thread for every task.
void runOnNewThreads(int count, const ParallelTask &task) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&task, i] { task(i); });
  for (std::thread &thread : threads)
    thread.join();
}

const Threads one{1, {}}, two{2, {}}, many{16, {}};
const Threads hostThreads{4, runOnNewThreads};
const Threads *const allThreads[] = {&one, &two, &many, &hostThreads};

TEST(SupportParallelFor, VisitsEveryIndexOnce) {
  for (const Threads *threads : allThreads)
    for (std::int64_t count : {0, 1, 2, 3, 17, 64, 1000})
      EXPECT_EQ(countVisits(*threads, count),
                std::vector<int>(std::size_t(count), 1));
}

TEST(SupportParallelFor, NegativeCount) {
  EXPECT_TRUE(countVisits(two, -1).empty());
}

TEST(SupportParallelFor, HugeCount) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> sum = 0;
  Body body = [&](std::int64_t begin, std::int64_t end) { sum += end - begin; };
  EXPECT_EQ(run(hostThreads, [&] { parallelFor(huge, body); }), "");
  EXPECT_EQ(sum, huge);
}

TEST(SupportParallelFor, OneThreadIsTheCallingOne) {
  std::vector<std::int64_t> ranges;
  std::thread::id thread;
  Body body = [&](std::int64_t begin, std::int64_t end) {
    ranges.insert(ranges.end(), {begin, end});
    thread = std::this_thread::get_id();
  };
  EXPECT_EQ(run(one, [&] { parallelFor(100, body); }), "");
  EXPECT_EQ(ranges, (std::vector<std::int64_t>{0, 100}));
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(SupportParallelFor, UsesTheHostsThreads) {
  std::atomic<int> tasks = 0, calls = 0;
  Threads threads{3, [&](int count, const ParallelTask &task) {
                    ++calls;
                    tasks += count;
                    runOnNewThreads(count, task);
                  }};
  EXPECT_EQ(countVisits(threads, 100), std::vector<int>(100, 1));
  EXPECT_EQ(tasks, 3);
  EXPECT_EQ(countVisits(threads, 2), std::vector<int>(2, 1));
  EXPECT_EQ(tasks, 3 + 2);
  EXPECT_EQ(countVisits(threads, 1), std::vector<int>(1, 1));
  EXPECT_EQ(calls, 2);
}

TEST(SupportParallelFor, HostThatRunsTasksInOrder) {
  Threads threads{3, [](int count, const ParallelTask &task) {
                    for (int i = count; i-- > 0;)
                      task(i);
                  }};
  EXPECT_EQ(countVisits(threads, 100), std::vector<int>(100, 1));
}

TEST(SupportParallelFor, HostThatRunsNothing) {
  Threads threads{3, [](int, const ParallelTask &) {}};
  EXPECT_EQ(countVisits(threads, 100), std::vector<int>(100, 1));
}

TEST(SupportParallelFor, HostThatThrows) {
  std::atomic<int> visits = 0;
  Body body = [&](std::int64_t begin, std::int64_t end) {
    visits += int(end - begin);
  };
  auto runOn = [&](const ParallelFor &host) {
    visits = 0;
    return run({4, host}, [&] { parallelFor(100, body); });
  };
  EXPECT_EQ(runOn([](int, const ParallelTask &) {
              throw std::runtime_error("no threads");
            }),
            "parallelFor: expected no exception, got 'no threads'");
  EXPECT_EQ(visits, 0);
  EXPECT_EQ(runOn([](int, const ParallelTask &task) {
              task(1);
              throw 7;
            }),
            "parallelFor: expected no exception, got one of an unknown type");
  EXPECT_EQ(runOn(runOnNewThreads), "");
  EXPECT_EQ(visits, 100);
}

/// It still has one task that runs, by reference, and others that it has not
/// started, as copies and by reference.
TEST(SupportParallelFor, HostThatThrowsWithTasksLeft) {
  std::atomic<bool> isRunning = false, isEnding = false;
  std::atomic<int> visits = 0;
  Body body = [&](std::int64_t begin, std::int64_t end) {
    isRunning = true;
    isRunning.notify_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(isEnding); // What it uses would be gone.
    visits += int(end - begin);
  };
  std::vector<std::thread> threads;
  std::vector<std::function<void()>> queue;
  Threads host{4, [&](int, const ParallelTask &task) {
                 threads.emplace_back([&task] { task(1); });
                 queue.emplace_back([&task] { task(2); });
                 queue.emplace_back([task] { task(3); });
                 isRunning.wait(false);
                 throw std::runtime_error("no room");
               }};
  EXPECT_EQ(run(host, [&] { parallelFor(100, body); }),
            "parallelFor: expected no exception, got 'no room'");
  isEnding = true;
  int before = visits;
  for (std::thread &thread : threads)
    thread.join();
  for (const std::function<void()> &task : queue)
    task();
  EXPECT_EQ(visits, before);
}

/// Work that grows with the index, as under a causal mask, is shared evenly.
TEST(SupportParallelFor, BalancesUnevenWork) {
  // A unit of work takes a unit of time: a thread goes on only when the other
  // has worked as long, or has nothing left to do.
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t busyUntil[2] = {0, 0}, total = 0;
  bool done[2] = {false, false};
  thread_local int self = 0;
  Threads threads{2, [&](int count, const ParallelTask &task) {
                    runOnNewThreads(count, [&](int i) {
                      self = i;
                      task(i);
                      std::lock_guard lock(mutex);
                      done[i] = true;
                      changed.notify_all();
                    });
                  }};
  Body body = [&](std::int64_t begin, std::int64_t end) {
    std::unique_lock lock(mutex);
    for (std::int64_t i = begin; i < end; ++i) {
      busyUntil[self] += i + 1;
      total += i + 1;
    }
    changed.notify_all();
    int other = 1 - self;
    changed.wait(lock, [&] {
      return done[other] || busyUntil[self] <= busyUntil[other];
    });
  };
  EXPECT_EQ(run(threads, [&] { parallelFor(64, body); }), "");
  std::int64_t longest = std::max(busyUntil[0], busyUntil[1]);
  EXPECT_LT(double(longest), 1.05 * double(total) / 2);
}

/// In every loop a task begins with the same part, which is what its thread has
/// in its cache.
TEST(SupportParallelFor, TasksBeginWithTheirShare) {
  for (int first : {0, 1, 2}) {
    std::vector<std::int64_t> begins;
    Body body = [&](std::int64_t begin, std::int64_t) {
      begins.push_back(begin);
    };
    Threads threads{3, [&](int, const ParallelTask &task) { task(first); }};
    EXPECT_EQ(run(threads, [&] { parallelFor(100, body); }), "");
    const std::int64_t shares[] = {0, 34, 67};
    EXPECT_EQ(begins.front(), shares[first]);
  }
}

/// So what a body keeps from one range to the next is kept for a whole share.
TEST(SupportParallelFor, TasksRunOneBodyUntilItFails) {
  struct Counts {
    int bodies = 0, ranges = 0;
    std::int64_t failing = -1;
  };
  auto body = [](void *context, ParallelRange *range) {
    auto &counts = *static_cast<Counts *>(context);
    ++counts.bodies;
    do {
      ++counts.ranges;
      if (range->begin <= counts.failing && counts.failing < range->end)
        attn_rt_fail("no");
    } while ((range = attn_rt_next_range(range)));
  };
  Threads threads{2, [](int, const ParallelTask &task) { task(1); }};
  Counts all, some{.failing = 90};
  EXPECT_EQ(run(threads, [&] { attn_rt_parallel_ranges(body, &all, 100); }),
            "");
  EXPECT_EQ(all.bodies, 1);
  EXPECT_GT(all.ranges, 8);
  EXPECT_EQ(run(threads, [&] { attn_rt_parallel_ranges(body, &some, 100); }),
            "no");
  EXPECT_EQ(some.bodies, 2); // The second one runs what is before the failure.
}

/// Some begin in the same share then.
TEST(SupportParallelFor, MoreTasksThanShares) {
  Threads threads{1000, runOnNewThreads};
  EXPECT_EQ(countVisits(threads, 5000), std::vector<int>(5000, 1));
}

TEST(SupportParallelFor, FailsWithTheFirstIndexsMessage) {
  static const char *const messages[] = {"at 30", "at 31", "at 90"};
  for (const Threads *threads : allThreads)
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> visits(100);
      Body body = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          ++visits[std::size_t(i)];
          if (i == 30 || i == 31)
            attn_rt_fail(messages[i - 30]);
          if (i == 90)
            attn_rt_fail(messages[2]);
        }
      };
      EXPECT_EQ(run(*threads, [&] { parallelFor(100, body); }), "at 30");
      for (std::int64_t i = 0; i < 30; ++i)
        EXPECT_EQ(visits[std::size_t(i)], 1);
    }
}

TEST(SupportParallelFor, StopsSoonAfterAFailure) {
  for (const Threads *threads : allThreads) {
    std::atomic<bool> failed = false;
    std::atomic<std::int64_t> visitedAfter = 0;
    Body body = [&](std::int64_t begin, std::int64_t end) {
      if (begin <= 10 && 10 < end) {
        failed = true;
        attn_rt_fail("at 10");
      }
      if (failed)
        visitedAfter += end - begin;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    EXPECT_EQ(run(*threads, [&] { parallelFor(1000, body); }), "at 10");
    EXPECT_LT(visitedAfter, 500);
  }
}

TEST(SupportParallelFor, CodeAfterAFailedLoopDoesNotRun) {
  bool reached = false;
  Body body = [](std::int64_t, std::int64_t) { attn_rt_fail("no"); };
  for (const Threads *threads : allThreads)
    EXPECT_EQ(run(*threads,
                  [&] {
                    parallelFor(10, body);
                    reached = true;
                  }),
              "no");
  EXPECT_FALSE(reached);
}

/// A message that is made while the loop runs outlives the worker's range.
TEST(SupportParallelFor, OutOfMemoryInARange) {
  for (const Threads *threads : allThreads) {
    Body body = [](std::int64_t begin, std::int64_t) {
      if (begin > 0)
        std::this_thread::yield();
      attn_rt_alloc(std::size_t(-1) - std::size_t(begin), 64);
    };
    EXPECT_EQ(run(*threads, [&] { parallelFor(64, body); }),
              "out of memory: kernel asked for 18446744073709551615 bytes");
  }
}

/// The leak sanitizer sees it if a failed range keeps its memory.
TEST(SupportParallelFor, RangesAllocateAndFree) {
  for (const Threads *threads : allThreads) {
    Body body = [](std::int64_t begin, std::int64_t end) {
      void *kept = attn_rt_alloc(4096, 64);
      std::memset(kept, int(begin), 4096);
      void *freed = attn_rt_alloc(4096, 64);
      std::memset(freed, int(end), 4096);
      attn_rt_free(freed);
      if (end > 50)
        attn_rt_fail("after 50");
    };
    EXPECT_EQ(run(*threads,
                  [&] {
                    void *outer = attn_rt_alloc(100, 64);
                    parallelFor(40, body);
                    attn_rt_free(outer);
                    attn_rt_alloc(100, 64);
                    parallelFor(64, body);
                  }),
              "after 50");
  }
}

TEST(SupportParallelFor, Nested) {
  for (const Threads *threads : allThreads) {
    std::vector<std::vector<int>> visits(20, std::vector<int>(30));
    Body outer = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::thread::id thread = std::this_thread::get_id();
        Body inner = [&, i](std::int64_t begin, std::int64_t end) {
          EXPECT_EQ(std::this_thread::get_id(), thread);
          for (std::int64_t j = begin; j < end; ++j)
            ++visits[std::size_t(i)][std::size_t(j)];
        };
        // With one thread, the outer loop is no range of its own.
        parallelFor(30, inner);
      }
    };
    EXPECT_EQ(run(*threads, [&] { parallelFor(20, outer); }), "");
    for (const std::vector<int> &row : visits)
      EXPECT_EQ(row, std::vector<int>(30, 1));
  }
}

TEST(SupportParallelFor, NestedFailure) {
  static Body inner = [](std::int64_t begin, std::int64_t end) {
    if (begin <= 7 && 7 < end)
      attn_rt_fail("inner");
  };
  Body outer = [](std::int64_t begin, std::int64_t end) {
    if (end > 5)
      parallelFor(30, inner);
  };
  for (const Threads *threads : allThreads)
    EXPECT_EQ(run(*threads, [&] { parallelFor(20, outer); }), "inner");
}

/// A call of a kernel from a body, as a host's callback might do.
TEST(SupportParallelFor, CallWithinALoop) {
  for (const Threads *threads : allThreads) {
    std::atomic<std::int64_t> sum = 0;
    Body body = [&](std::int64_t begin, std::int64_t end) {
      Body inner = [&](std::int64_t first, std::int64_t last) {
        sum += (last - first) * (end - begin);
      };
      EXPECT_EQ(run(*threads, [&] { parallelFor(30, inner); }), "");
    };
    EXPECT_EQ(run(*threads, [&] { parallelFor(20, body); }), "");
    EXPECT_EQ(sum, 600);
  }
}

TEST(SupportParallelFor, CallsAtTheSameTime) {
  for (const Threads *pool : {&two, &hostThreads}) {
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::string message = "call " + std::to_string(t);
        for (int i = 0; i < 50; ++i) {
          std::vector<std::int64_t> values(64 + std::size_t(t));
          Body body = [&](std::int64_t begin, std::int64_t end) {
            std::iota(values.begin() + begin, values.begin() + end, begin);
            if (i % 2 && begin <= t && t < end)
              attn_rt_fail(message.c_str());
          };
          auto count = std::int64_t(values.size());
          std::string failure = run(*pool, [&] { parallelFor(count, body); });
          if (i % 2)
            right += failure == message;
          else
            right += failure.empty() && values.back() == count - 1;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(right, 4 * 50);
  }
}

/// Where there are two processors, two threads work at the same time.
TEST(SupportParallelFor, DefaultPoolRunsAtTheSameTime) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "one processor";
  std::atomic<int> arrived = 0;
  Body body = [&](std::int64_t, std::int64_t) {
    ++arrived;
    auto start = std::chrono::steady_clock::now();
    while (arrived < 2 &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
      std::this_thread::yield();
  };
  EXPECT_EQ(run(two, [&] { parallelFor(2, body); }), "");
  EXPECT_EQ(arrived, 2);
}

} // namespace

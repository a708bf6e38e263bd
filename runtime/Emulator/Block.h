//===- Block.h - A block of threads that executes ------------ -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_BLOCK_H
#define ATTN_RUNTIME_EMULATOR_BLOCK_H

#include "runtime/Emulator/AsyncCopies.h"
#include "runtime/Emulator/Fiber.h"
#include "runtime/Emulator/Launch.h"
#include "runtime/Emulator/Mbarriers.h"
#include "runtime/Emulator/ProxyFences.h"
#include "runtime/Emulator/Races.h"
#include "runtime/Emulator/SharedMemory.h"
#include "runtime/Emulator/WarpAccesses.h"
#include "runtime/Emulator/Warpgroups.h"

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <random>

namespace attn::emulator {

inline constexpr unsigned warpSize = 32;
inline constexpr std::uint32_t wholeWarp = ~std::uint32_t(0); ///< Its lanes.
inline constexpr unsigned maximumThreads = 1024;              ///< Of a block.
inline constexpr unsigned numBarriers = 16;                   ///< Of a block.

/// Threads that arrived at a barrier, and those whose predicate was true.
struct BarrierCount {
  unsigned numThreads = 0, numTrue = 0;
};

/// How a thread arrives at a barrier.
struct BarrierArrival {
  const char *site;
  unsigned barrier = 0;
  unsigned expected = 0; ///< Threads; 0: all that have not exited.
  bool waits = true;
  /// All threads reduce their predicates in the same way; none: they do not.
  std::optional<std::int32_t> reduction = {};
  bool predicate = false;
};

/// A thread of a block. Generated code runs on its fiber.
struct Thread {
  Fiber fiber;
  unsigned index = 0; ///< In the block.
  /// The operation that it waits at, with its place in the source.
  const char *site = nullptr;
  AsyncCopies copies;
  /// Whose stores its copies are that arrive at mbarriers.
  std::optional<unsigned> copyAgent;
  /// Of the barrier that it waited at last.
  BarrierCount count;

  unsigned lane() const { return index % warpSize; }
  unsigned warp() const { return index / warpSize; }
  std::uint32_t bit() const { return std::uint32_t(1) << lane(); }
};

/// What the lanes of a warp do together, once all of them are there. `slots`
/// holds what each lane of `lanes` brought; others' are null.
using Together = void (*)(void *const *slots, std::uint32_t lanes);

/// How an operation of a warp brings its lanes together.
struct Meeting {
  const char *site;
  /// The lanes that take part.
  std::uint32_t mask;
  /// All lanes must execute the very same operation, and none may have exited.
  bool isAligned;
  Together together;
};

/// Executes blocks of a launch, one after another.
///
/// A thread runs until it waits. Which one runs next is random in the way of
/// probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): warps
/// have an order of priority, of which the first that can run does; now and
/// then the order changes. So some warps run far ahead of others, which shows
/// more than evenly mixed threads do.
class Block {
public:
  Block(const KernelCode &kernel, void **arguments,
        const LaunchOptions &options);
  ~Block();

  /// Executes the block at `index` of the grid. False if it failed.
  bool run(Dim3 index);
  const std::string &getFailure() const { return failure; }

  // What follows is for functions that generated code calls.

  /// The block that executes on this thread of the system.
  static Block &current();

  const LaunchOptions &options() const { return launch; }
  Dim3 index() const { return blockIndex; }
  Thread &self() { return *running; }
  SharedMemory &shared() { return sharedMemory; }
  Races &races() { return sharedRaces; }
  Mbarriers &mbarriers() { return allMbarriers; }
  ProxyFences &fences() { return proxyFences; }
  Warpgroups &warpgroups() { return products; }
  /// What a warp finds in the place of a sum before it has waited for it. What
  /// is no number shows, unless the kernel computes again what becomes of it.
  float pendingSum() const {
    return launch.seed % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 1;
  }
  unsigned numThreads() const { return unsigned(threads.size()); }

  /// Ends the block, with a message that begins with the running thread and
  /// `site`. Destructors of what the threads have on their stacks do not run.
  [[noreturn, gnu::format(printf, 3, 4)]] void fail(const char *site,
                                                    const char *format, ...);

  /// The same of what a kernel asserts: `message`, which says enough, at
  /// `location`, then the running thread.
  [[noreturn]] void failAssertion(const char *location, const char *message);

  /// Waits for the other lanes that `meeting` is for; the last one to arrive
  /// runs `together`.
  void meet(const Meeting &meeting, void *slot);

  /// Arrives at a barrier with the whole warp, and, if it waits, does until
  /// the expected threads have. What it counts is for threads that wait.
  BarrierCount arriveAtBarrier(const BarrierArrival &arrival);

  /// Arrives at an mbarrier, of which as many are missing, and wakes who waits
  /// if that completes the phase.
  void arrive(Mbarrier &mbarrier, unsigned count);
  /// Has the copies of the running thread until now arrive at an mbarrier.
  void arriveAfterCopies(Mbarrier &mbarrier);

  /// Makes the running thread wait until another one wakes it.
  void suspend(const char *site);

  /// Orders accesses to memory of these lanes of the running warp: all before
  /// this comes before all after it.
  void orderLanes(std::uint32_t lanes);

  /// Lets others run, now and then.
  void mayYield();

  /// Counts an access of the running thread, if the launch asks for traffic.
  void record(const WarpAccesses::Access &access);

private:
  /// Lanes that wait for the rest of those that take part.
  struct Rendezvous {
    Meeting meeting;
    std::uint32_t arrived = 0;
    std::array<void *, warpSize> slots = {};
  };
  struct Warp {
    std::uint32_t lanes = 0;    ///< Those that exist.
    std::uint32_t runnable = 0; ///< Those that wait for nothing.
    std::uint32_t exited = 0;
    std::vector<Rendezvous> pending;
  };
  struct Barrier {
    unsigned expected = 0; ///< 0: all threads that have not exited.
    unsigned numArrived = 0;
    unsigned numTrue = 0;
    std::optional<std::int32_t> reduction;
    const char *site = nullptr; ///< Where the first one arrived.
    std::vector<unsigned> waiting;
    /// What those know that arrived, and those that will know it.
    VectorClocks::Clock clock;
    std::vector<unsigned> learning;
    std::uint64_t generation = 0;
  };
  static void runThread(void *thread);
  void exitThread();
  void checkProductsAtExit();
  Thread *pickThread();
  Thread *findRunnable();
  void finishCopies(std::size_t choice);
  void wake(unsigned thread);
  void switchToScheduler();
  std::string describePlace();
  [[noreturn]] void end();
  bool isComplete(const Warp &warp, const Rendezvous &rendezvous) const;
  void complete(unsigned warp, std::size_t rendezvous);
  void arrive(const BarrierArrival &arrival, BarrierCount arriving);
  void releaseIfComplete(Barrier &barrier);
  std::string describeDeadlock() const;
  bool chance(unsigned oneIn) { return random() % oneIn == 0; }

  const KernelCode &kernel;
  void **const arguments;
  const LaunchOptions &launch;
  Dim3 blockIndex;
  std::mt19937_64 random;
  SharedMemory sharedMemory;
  Races sharedRaces;
  Mbarriers allMbarriers;
  ProxyFences proxyFences;
  Warpgroups products;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  std::vector<WarpAccesses> accesses; ///< Of warps, where traffic is counted.
  std::vector<unsigned> order;        ///< Of warps, the first to run first.
  std::array<Barrier, numBarriers> barriers;
  /// Threads whose copies are to arrive at an mbarrier, one for each time.
  std::vector<unsigned> copying;
  unsigned numExited = 0;
  Thread *running = nullptr;
  Fiber scheduler;
  bool hasFailed = false;
  char text[1024];
  std::string failure;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_BLOCK_H

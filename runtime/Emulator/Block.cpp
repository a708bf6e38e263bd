//===- Block.cpp - A block of threads that executes -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Block.h"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>

using namespace attn::emulator;

/// How often, one time in so many:
static constexpr unsigned orderChanges = 32;    ///< When a thread is picked.
static constexpr unsigned copyArrivesEarly = 4; ///< Likewise.
static constexpr unsigned productEndsEarly = 4; ///< Likewise.
static constexpr unsigned accessYields = 64;    ///< At an access to memory.

static thread_local Block *currentBlock = nullptr;

Block &Block::current() { return *currentBlock; }

Block::Block(const KernelCode &kernel, void **arguments,
             const LaunchOptions &options)
    : kernel(kernel), arguments(arguments), launch(options) {
  unsigned count = options.block.x * options.block.y * options.block.z;
  threads.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    threads.push_back(std::make_unique<Thread>());
    threads.back()->index = i;
  }
  warps.resize((count + warpSize - 1) / warpSize);
  for (const auto &thread : threads)
    warps[thread->warp()].lanes |= thread->bit();
  if (options.traffic)
    for (const Warp &warp : warps)
      accesses.emplace_back(warp.lanes, *options.traffic);
}

Block::~Block() = default;

bool Block::run(Dim3 index) {
  blockIndex = index;
  std::seed_seq seeds{unsigned(launch.seed), unsigned(launch.seed >> 32),
                      index.x, index.y, index.z};
  random.seed(seeds);
  numExited = 0;
  barriers.fill({});
  order.clear();
  for (Warp &warp : warps) {
    warp.runnable = warp.lanes;
    warp.exited = 0;
    warp.pending.clear();
    order.push_back(unsigned(order.size()));
  }
  std::shuffle(order.begin(), order.end(), random);
  std::size_t sharedBytes =
      kernel.staticSharedBytes + launch.dynamicSharedBytes;
  bool hasMemory = sharedMemory.reset(sharedBytes);
  sharedRaces.reset(threads.size(), sharedBytes);
  allMbarriers.reset();
  copying.clear();
  proxyFences.reset(threads.size(), warps.size());
  products.reset(warps.size(), sharedBytes);
  for (const auto &thread : threads) {
    thread->site = nullptr;
    thread->copies.clear();
    thread->copyAgent = {};
    hasMemory = hasMemory && thread->fiber.start(&runThread, thread.get());
  }
  if (!hasMemory) {
    failure = "out of memory for the threads of a block";
    return false;
  }

  Block *outer = std::exchange(currentBlock, this);
  while (Thread *next = pickThread()) {
    running = next;
    scheduler.switchTo(next->fiber);
    if (hasFailed)
      break;
  }
  currentBlock = outer;
  for (WarpAccesses &ofWarp : accesses)
    ofWarp.finish();
  if (hasFailed)
    failure = text;
  else if (numExited < threads.size())
    failure = describeDeadlock();
  return failure.empty();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Block::runThread(void *) {
  Block &block = current();
  block.kernel.entry(block.arguments);
  block.exitThread();
}

void Block::checkProductsAtExit() {
  if (const char *site = products.findPending(self().warp()))
    fail(site, "this thread exits before the product has been waited for");
  if (numExited < threads.size())
    return;
  if (std::optional<Warpgroups::Absence> absence = products.findAbsence())
    fail(absence->site, "warp %u does not execute this with its warpgroup",
         absence->warp);
}

void Block::exitThread() {
  Thread &thread = self();
  Warp &warp = warps[thread.warp()];
  ++numExited;
  checkProductsAtExit();
  warp.runnable &= ~thread.bit();
  warp.exited |= thread.bit();
  for (std::size_t i = warp.pending.size(); i-- > 0;) {
    const Rendezvous &rendezvous = warp.pending[i];
    if (!(rendezvous.meeting.mask & thread.bit()))
      continue;
    if (rendezvous.meeting.isAligned)
      fail(rendezvous.meeting.site,
           "this thread exits, while others of its warp wait here");
    if (isComplete(warp, rendezvous))
      complete(thread.warp(), i);
  }
  for (Barrier &barrier : barriers)
    releaseIfComplete(barrier);
  switchToScheduler(); // Does not return.
}

void Block::record(const WarpAccesses::Access &access) {
  if (!launch.traffic)
    return;
  if (access.buffer) {
    BufferTraffic &of = launch.traffic->buffers[*access.buffer];
    (access.isStore ? of.bytesStored : of.bytesLoaded) += access.bytes;
  }
  accesses[self().warp()].add(self().lane(), access);
}

Thread *Block::pickThread() {
  if (chance(orderChanges))
    std::swap(order[random() % order.size()], order[random() % order.size()]);
  if (chance(copyArrivesEarly)) {
    AsyncCopies &copies = threads[random() % threads.size()]->copies;
    if (copies.hasPending())
      copies.arriveEarly(random());
  }
  if (products.hasPending() && chance(productEndsEarly))
    products.computeNext(unsigned(random() % warps.size()),
                         sharedMemory.data());
  if (!copying.empty() && chance(copyArrivesEarly))
    finishCopies(random() % copying.size());
  Thread *next = findRunnable();
  for (; !next && !copying.empty(); next = findRunnable())
    finishCopies(random() % copying.size());
  return next;
}

Thread *Block::findRunnable() {
  for (unsigned warp : order)
    if (std::uint32_t runnable = warps[warp].runnable) {
      auto first = int(random() % warpSize);
      auto lane = (unsigned(first) +
                   unsigned(std::countr_zero(std::rotr(runnable, first)))) %
                  warpSize;
      return threads[warp * warpSize + lane].get();
    }
  return nullptr;
}

void Block::switchToScheduler() { self().fiber.switchTo(scheduler); }

void Block::suspend(const char *site) {
  Thread &thread = self();
  thread.site = site;
  warps[thread.warp()].runnable &= ~thread.bit();
  switchToScheduler();
}

void Block::wake(unsigned thread) {
  warps[thread / warpSize].runnable |= threads[thread]->bit();
}

void Block::mayYield() {
  if (chance(accessYields))
    switchToScheduler();
}

//===----------------------------------------------------------------------===//
// Operations of a warp
//===----------------------------------------------------------------------===//

bool Block::isComplete(const Warp &warp, const Rendezvous &rendezvous) const {
  return (rendezvous.meeting.mask & ~warp.exited & ~rendezvous.arrived) == 0;
}

void Block::complete(unsigned warp, std::size_t rendezvous) {
  std::vector<Rendezvous> &pending = warps[warp].pending;
  Rendezvous finished = pending[rendezvous];
  pending.erase(pending.begin() + std::ptrdiff_t(rendezvous));
  finished.meeting.together(finished.slots.data(), finished.arrived);
  // Nobody runs before this thread stops, so it may be woken as well.
  warps[warp].runnable |= finished.arrived;
}

void Block::meet(const Meeting &meeting, void *slot) {
  Thread &thread = self();
  Warp &warp = warps[thread.warp()];
  if (!(meeting.mask & thread.bit()))
    fail(meeting.site, "mask 0x%x: expected this thread's lane, %u, in it",
         meeting.mask, thread.lane());
  if (std::uint32_t missing =
          meeting.mask &
          (meeting.isAligned ? warp.exited | ~warp.lanes : ~warp.lanes))
    fail(meeting.site, "lane %d of the mask 0x%x %s", std::countr_zero(missing),
         meeting.mask, missing & warp.exited ? "has exited" : "does not exist");

  std::size_t found = warp.pending.size();
  for (std::size_t i = 0; i < warp.pending.size(); ++i) {
    const Rendezvous &other = warp.pending[i];
    const Meeting &theirs = other.meeting;
    if (!(theirs.mask & thread.bit()) || !(meeting.mask & other.arrived))
      continue;
    // They wait for each other, at one operation or in vain.
    if (theirs.mask != meeting.mask || theirs.together != meeting.together ||
        (meeting.isAligned && theirs.site != meeting.site))
      fail(meeting.site,
           "expected all lanes of the mask 0x%x, but lane %d waits with the "
           "mask 0x%x at %s",
           meeting.mask, std::countr_zero(other.arrived), theirs.mask,
           theirs.site);
    found = i;
  }
  if (found == warp.pending.size())
    warp.pending.push_back({meeting});
  Rendezvous &rendezvous = warp.pending[found];
  rendezvous.arrived |= thread.bit();
  rendezvous.slots[thread.lane()] = slot;
  if (isComplete(warp, rendezvous))
    complete(thread.warp(), found);
  else
    suspend(meeting.site);
}

void Block::orderLanes(std::uint32_t lanes) {
  VectorClocks::Clock clock;
  auto forEachThread = [&](auto function) {
    for (std::uint32_t rest = lanes; rest; rest &= rest - 1)
      function(self().warp() * warpSize + unsigned(std::countr_zero(rest)));
  };
  forEachThread(
      [&](unsigned thread) { sharedRaces.clocks.release(thread, clock); });
  forEachThread(
      [&](unsigned thread) { sharedRaces.clocks.acquire(thread, clock); });
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

BarrierCount Block::arriveAtBarrier(const BarrierArrival &arrival) {
  auto [site, barrier, expected, waits, reduction, predicate] = arrival;
  if (barrier >= numBarriers)
    fail(site, "expected a barrier below %u, got %u", numBarriers, barrier);
  if (expected % warpSize != 0 || expected > numThreads())
    fail(site,
         "expected a multiple of %u threads, at most the block's %u, got %u",
         warpSize, numThreads(), expected);
  struct Slot {
    const BarrierArrival &arrival;
    std::uint64_t generation = 0;
  } slot = {arrival};
  auto together = [](void *const *slots, std::uint32_t lanes) {
    Block &block = current();
    const BarrierArrival &first =
        static_cast<Slot *>(slots[std::countr_zero(lanes)])->arrival;
    Barrier &barrier = block.barriers[first.barrier];
    std::uint64_t generation = barrier.generation;
    unsigned numTrue = 0;
    for (std::uint32_t rest = lanes; rest; rest &= rest - 1) {
      auto number = unsigned(std::countr_zero(rest));
      auto &slot = *static_cast<Slot *>(slots[number]);
      const BarrierArrival &lane = slot.arrival;
      if (lane.barrier != first.barrier || lane.expected != first.expected)
        block.fail(lane.site,
                   "expected the same barrier for the whole warp, "
                   "got %u and %u",
                   first.barrier, lane.barrier);
      slot.generation = generation;
      numTrue += lane.predicate;
      unsigned thread = block.self().warp() * warpSize + number;
      block.sharedRaces.clocks.release(thread, barrier.clock);
      if (lane.waits)
        barrier.learning.push_back(thread);
    }
    block.arrive(first, {unsigned(std::popcount(lanes)), numTrue});
  };
  meet({site, warps[self().warp()].lanes, /*isAligned=*/true, together}, &slot);
  Barrier &joined = barriers[barrier];
  if (waits && joined.generation == slot.generation) {
    joined.waiting.push_back(self().index);
    suspend(site);
  }
  return self().count;
}

void Block::arrive(const BarrierArrival &arrival, BarrierCount arriving) {
  Barrier &barrier = barriers[arrival.barrier];
  if (barrier.numArrived == 0) {
    barrier.expected = arrival.expected;
    barrier.reduction = arrival.reduction;
    barrier.site = arrival.site;
  } else if (barrier.expected != arrival.expected) {
    fail(arrival.site,
         "expected as many threads as at %s for barrier %u, %u, "
         "got %u",
         barrier.site, arrival.barrier, barrier.expected, arrival.expected);
  } else if (barrier.reduction != arrival.reduction) {
    fail(arrival.site, "expected the same reduction as at %s for barrier %u",
         barrier.site, arrival.barrier);
  }
  barrier.numArrived += arriving.numThreads;
  barrier.numTrue += arriving.numTrue;
  if (barrier.expected && barrier.numArrived > barrier.expected)
    fail(arrival.site, "%u threads arrive at barrier %u, which is for %u",
         barrier.numArrived, arrival.barrier, barrier.expected);
  releaseIfComplete(barrier);
}

void Block::releaseIfComplete(Barrier &barrier) {
  unsigned expected =
      barrier.expected ? barrier.expected : numThreads() - numExited;
  if (barrier.numArrived == 0 || barrier.numArrived < expected)
    return;
  BarrierCount count = {std::exchange(barrier.numArrived, 0),
                        std::exchange(barrier.numTrue, 0)};
  ++barrier.generation;
  for (unsigned thread : barrier.learning) {
    sharedRaces.clocks.acquire(thread, barrier.clock);
    threads[thread]->count = count;
  }
  barrier.learning.clear();
  barrier.clock.clear();
  for (unsigned thread : barrier.waiting)
    wake(thread);
  barrier.waiting.clear();
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

void Block::arrive(Mbarrier &mbarrier, unsigned count) {
  if (!mbarrier.arrive(count))
    return;
  for (unsigned thread : mbarrier.waiting) {
    sharedRaces.clocks.acquire(thread, mbarrier.completed);
    wake(thread);
  }
  mbarrier.waiting.clear();
}

void Block::arriveAfterCopies(Mbarrier &mbarrier) {
  Thread &thread = self();
  // Who waits knows of the copies, not of what else the thread has done.
  if (!thread.copyAgent)
    thread.copyAgent = sharedRaces.clocks.addAgent(thread.index);
  ++mbarrier.numCopying;
  thread.copies.track(mbarrier);
  copying.push_back(thread.index);
}

void Block::finishCopies(std::size_t choice) {
  Thread &thread = *threads[copying[choice]];
  copying[choice] = copying.back();
  copying.pop_back();
  unsigned agent = *thread.copyAgent;
  Mbarrier &mbarrier =
      thread.copies.finishTracked([&](const AsyncCopies::Copy &copy) {
        std::size_t offset = sharedMemory.getOffset(copy.target);
        sharedMemory.setState(offset, copy.bytes, SharedMemory::State::written);
        sharedRaces.finishStore(agent, offset, copy.bytes, copy.site);
      });
  sharedRaces.clocks.release(agent, mbarrier.arriving);
  --mbarrier.numCopying;
  arrive(mbarrier, 1);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Of a thread, in its grid.
std::string Block::describePlace() {
  Dim3 size = launch.block;
  unsigned thread = self().index;
  char place[96];
  std::snprintf(place, sizeof(place), "block (%u, %u, %u), thread (%u, %u, %u)",
                blockIndex.x, blockIndex.y, blockIndex.z, thread % size.x,
                thread / size.x % size.y, thread / size.x / size.y);
  return place;
}

void Block::fail(const char *site, const char *format, ...) {
  int length = std::snprintf(
      text, sizeof(text), "kernel '%.128s', %s: %.256s: ", kernel.name.c_str(),
      describePlace().c_str(), site);
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text + length, sizeof(text) - std::size_t(length), format,
                 arguments);
  va_end(arguments);
  end();
}

void Block::failAssertion(const char *location, const char *message) {
  std::snprintf(text, sizeof(text), "%s%s, in %s", location, message,
                describePlace().c_str());
  end();
}

void Block::end() {
  hasFailed = true;
  switchToScheduler();
  __builtin_unreachable();
}

/// Threads 0, 1, 2, 7 as "0-2, 7".
static std::string describeRanges(const std::vector<unsigned> &numbers) {
  std::string result;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    result += (i ? ", " : "") + std::to_string(numbers[i]);
    if (end > i + 1)
      result += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return result;
}

std::string Block::describeDeadlock() const {
  std::vector<std::pair<const char *, std::vector<unsigned>>> waiting;
  for (const auto &thread : threads) {
    if (warps[thread->warp()].exited & thread->bit())
      continue;
    auto same =
        std::find_if(waiting.begin(), waiting.end(), [&](const auto &group) {
          return group.first == thread->site;
        });
    if (same == waiting.end())
      same = waiting.insert(same, {thread->site, {}});
    same->second.push_back(thread->index);
  }
  std::string result = "kernel '" + kernel.name + "', block (" +
                       std::to_string(blockIndex.x) + ", " +
                       std::to_string(blockIndex.y) + ", " +
                       std::to_string(blockIndex.z) + "): deadlock";
  for (const auto &[site, numbers] : waiting)
    result += (&site == &waiting.front().first ? ": " : "; ") +
              std::string("threads ") + describeRanges(numbers) + " wait at " +
              site;
  return result;
}

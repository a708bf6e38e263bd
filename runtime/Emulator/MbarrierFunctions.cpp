//===- MbarrierFunctions.cpp - Operations of mbarriers --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Block.h"
#include "runtime/Emulator/Functions.h"

using namespace attn::emulator;

static void checkOrder(Block &block, const Races::Access *other,
                       std::size_t offset, const char *site) {
  if (other)
    block.fail(site,
               "at the mbarrier at offset %zu, this is not ordered after what "
               "thread %u of the block does there at %s",
               offset, block.races().clocks.getOwner(other->thread),
               other->site);
}

/// The mbarrier at an address, which its initialisation is ordered before.
static Mbarrier &getMbarrier(Block &block, const void *address,
                             const char *site) {
  block.mayYield();
  std::size_t offset = block.shared().getOffset(address);
  Mbarrier *mbarrier = block.mbarriers().find(offset);
  if (!mbarrier)
    block.fail(site, "there is no mbarrier at offset %td of shared memory",
               std::ptrdiff_t(offset));
  checkOrder(
      block,
      block.races().load(block.self().index, offset, Mbarrier::bytes, site),
      offset, site);
  return *mbarrier;
}

void attn_emu_mbarrier_init(void *address, std::int32_t count,
                            const char *site) {
  Block &block = Block::current();
  if (count < 1 || unsigned(count) > Mbarrier::maximumCount)
    block.fail(site, "expected 1 to %u arrivals, got %d",
               Mbarrier::maximumCount, count);
  enum { store = 1, shared = 3 };
  attn_emu_access(address, Mbarrier::bytes, Mbarrier::bytes, store, shared,
                  site);
  block.mbarriers().init(block.shared().getOffset(address), unsigned(count),
                         site);
}

void attn_emu_mbarrier_inval(void *address, const char *site) {
  Block &block = Block::current();
  Mbarrier &mbarrier = getMbarrier(block, address, site);
  std::size_t offset = block.shared().getOffset(address);
  if (!mbarrier.waiting.empty())
    block.fail(site, "thread %u of the block waits at the mbarrier",
               mbarrier.waiting.front());
  if (mbarrier.numCopying != 0)
    block.fail(site, "copies that have not ended are to arrive at the "
                     "mbarrier");
  checkOrder(
      block,
      block.races().store(block.self().index, offset, Mbarrier::bytes, site),
      offset, site);
  block.shared().setState(offset, Mbarrier::bytes,
                          SharedMemory::State::unwritten);
  block.mbarriers().erase(offset);
}

std::int64_t attn_emu_mbarrier_arrive(void *address, std::int32_t count,
                                      bool releases, const char *site) {
  Block &block = Block::current();
  Mbarrier &mbarrier = getMbarrier(block, address, site);
  if (count < 1 || unsigned(count) > mbarrier.missing)
    block.fail(site,
               "expected 1 to %u arrivals, those that are missing in this "
               "phase of the mbarrier, got %d",
               mbarrier.missing, count);
  if (releases)
    block.races().clocks.release(block.self().index, mbarrier.arriving);
  auto phase = std::int64_t(mbarrier.phase);
  block.arrive(mbarrier, unsigned(count));
  return phase;
}

void attn_emu_mbarrier_wait(void *address, std::int32_t parity,
                            const char *site) {
  Block &block = Block::current();
  Mbarrier &mbarrier = getMbarrier(block, address, site);
  if (parity != 0 && parity != 1)
    block.fail(site, "expected the parity 0 or 1, got %d", parity);
  unsigned thread = block.self().index;
  if (mbarrier.isComplete(unsigned(parity)))
    return block.races().clocks.acquire(thread, mbarrier.completed);
  mbarrier.waiting.push_back(thread);
  block.suspend(site);
}

void attn_emu_cp_async_mbarrier_arrive(void *address, const char *site) {
  Block &block = Block::current();
  block.arriveAfterCopies(getMbarrier(block, address, site));
}

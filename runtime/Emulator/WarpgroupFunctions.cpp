//===- WarpgroupFunctions.cpp - Operations of a warpgroup -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Block.h"
#include "runtime/Emulator/Functions.h"

#include "attn/element_type.h"

#include <algorithm>

using namespace attn::emulator;

namespace {
struct ProductSlot {
  float *sums;
  const void *lhs; ///< Words of registers, or descriptors.
  MatrixDescriptor descriptor;
  const std::int64_t *steps;
  unsigned numSteps, columns;
  bool readsBoth, isTransposed, isBF16, accumulates;
  const char *site;
};

/// What a warp does to begin a product. All that allocates is the block's, as a
/// failure leaves this without destructors.
class Beginning {
public:
  explicit Beginning(void *const *slots)
      : slots(slots), first(getSlot(0)), block(Block::current()),
        warp(block.self().warp()), agent(getAgent()),
        product(begin(block, warp, first)) {}

  void run() {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      takeRegisters(lane);
    for (unsigned step = 0; step < first.numSteps; ++step) {
      MatrixDescriptor descriptor = {first.descriptor.bits +
                                     std::uint64_t(first.steps[step])};
      check(descriptor, step);
      for (unsigned i = 0; i < 2 * first.columns; ++i)
        read(descriptor.getChunk(i, first.columns, first.isTransposed));
    }
    if (first.readsBoth)
      for (unsigned step = 0; step < first.numSteps; ++step)
        readFirstFactor(step);
  }

private:
  /// Of its first step; none of a first factor in registers.
  static std::uint64_t getFirstDescriptor(const ProductSlot &slot) {
    return slot.readsBoth ? *static_cast<const std::uint64_t *>(slot.lhs) : 0;
  }

  void check(MatrixDescriptor descriptor, unsigned step) {
    if (const char *problem = descriptor.check())
      block.fail(first.site, "the descriptor 0x%016llx of step %u %s",
                 static_cast<unsigned long long>(descriptor.bits), step,
                 problem);
  }

  /// The warp's rows, which are as the columns of a second factor.
  void readFirstFactor(unsigned step) {
    MatrixDescriptor descriptor = {
        static_cast<const std::uint64_t *>(first.lhs)[step]};
    check(descriptor, step);
    constexpr unsigned rows = Warpgroups::numRows;
    unsigned begin = warp % Warpgroups::numWarps * rows;
    for (unsigned i = 2 * begin; i < 2 * (begin + rows); ++i)
      read(descriptor.getChunk(i, Warpgroups::numWarps * rows,
                               /*isTransposed=*/false));
  }

  ProductSlot &getSlot(unsigned lane) const {
    return *static_cast<ProductSlot *>(slots[lane]);
  }

  /// Reads shared memory for the warp. It knows what lane 0 does.
  unsigned getAgent() {
    VectorClocks &clocks = block.races().clocks;
    unsigned lane0 = warp * warpSize;
    std::optional<unsigned> &agent = block.warpgroups().agents[warp];
    if (!agent)
      agent = clocks.addAgent(lane0);
    clocks.acquireFrom(*agent, lane0);
    return *agent;
  }

  static Warpgroups::Product &begin(Block &block, unsigned warp,
                                    const ProductSlot &first) {
    if ((warp / Warpgroups::numWarps + 1) * Warpgroups::numWarps * warpSize >
        block.numThreads())
      block.fail(first.site,
                 "warp %u is of no warpgroup: the block has %u "
                 "threads",
                 warp, block.numThreads());
    Warpgroups &warpgroups = block.warpgroups();
    if (warpgroups.isTarget(warp, first.sums))
      block.fail(first.site,
                 "the last product that this has begun has not been "
                 "waited for");
    if (std::optional<unsigned> other = warpgroups.begin(
            warp, first.site,
            {getFirstDescriptor(first), first.descriptor.bits}))
      block.fail(first.site,
                 "expected the product that warp %u of the warpgroup computes, "
                 "with the same descriptors",
                 *other);
    Warpgroups::Product &product = warpgroups.getYoungest(warp);
    product.site = first.site;
    product.columns = first.columns;
    product.isTransposed = first.isTransposed;
    product.isBF16 = first.isBF16;
    product.number |= std::bit_cast<std::uint32_t>(block.pendingSum());
    product.readsBoth = first.readsBoth;
    product.lhs.resize(std::size_t(first.numSteps) * Warpgroups::stepRows *
                       Warpgroups::numRows);
    product.sums.resize(std::size_t(first.columns) * Warpgroups::numRows);
    return product;
  }

  void expectSame(std::uint64_t descriptor, std::uint64_t other) {
    if (descriptor != other)
      block.fail(first.site,
                 "expected one descriptor for the whole warp, got 0x%016llx "
                 "and 0x%016llx",
                 static_cast<unsigned long long>(descriptor),
                 static_cast<unsigned long long>(other));
  }

  /// Of the first factor, and the sums.
  void takeRegisters(unsigned lane) {
    const ProductSlot &slot = getSlot(lane);
    expectSame(first.descriptor.bits, slot.descriptor.bits);
    expectSame(getFirstDescriptor(first), getFirstDescriptor(slot));
    product.targets[lane] = slot.sums;
    unsigned g = lane / 4, t = lane % 4;
    auto *registers = static_cast<const std::uint32_t *>(slot.lhs);
    for (unsigned i = 0; !slot.readsBoth && i < 4 * slot.numSteps; ++i)
      for (unsigned e = 0; e < 2; ++e) {
        auto bits = std::uint16_t(registers[i] >> (16 * e));
        unsigned row = g + 8 * (i % 2);
        unsigned column = 8 * (i / 2) + 2 * t + e;
        product.lhs[column * Warpgroups::numRows + row] =
            slot.isBF16 ? float(attn::bf16::fromBits(bits))
                        : float(attn::f16::fromBits(bits));
      }
    unsigned numSums = slot.columns / 2;
    if (slot.accumulates)
      for (unsigned i = 0; i < numSums; ++i) {
        unsigned row = g + 8 * (i / 2 % 2);
        unsigned column = 8 * (i / 4) + 2 * t + i % 2;
        product.sums[column * Warpgroups::numRows + row] = slot.sums[i];
      }
    std::fill_n(slot.sums, numSums, std::bit_cast<float>(product.number));
  }

  /// Checks that the product may read a chunk, and notes that it does.
  void read(std::size_t offset) {
    constexpr std::size_t bytes = Warpgroups::chunkBytes;
    SharedMemory &shared = block.shared();
    auto fail = [&](const char *what) {
      block.fail(first.site,
                 "the product reads %zu bytes of shared memory at offset %zu, "
                 "%s",
                 bytes, offset, what);
    };
    if (!shared.isInside(offset, bytes))
      fail("which is out of bounds");
    if (block.mbarriers().findOverlap(offset, bytes))
      fail("where there is an mbarrier");
    if (shared.isInFlight(offset, bytes))
      fail("which an asynchronous copy writes that has not been waited for");
    if (!shared.isWritten(offset, bytes))
      fail("which nothing has written");
    Races &races = block.races();
    if (const Races::Access *other =
            races.load(agent, offset, bytes, first.site))
      block.fail(first.site,
                 "the product reads %zu bytes of shared memory at offset %zu, "
                 "and is not ordered after what thread %u of the block does "
                 "there at %s",
                 bytes, offset, races.clocks.getOwner(other->thread),
                 other->site);
    for (std::size_t i = offset; i < offset + bytes; ++i) {
      const Races::Access &store = races.getLastStore(i);
      if (!block.fences().isVisible(store, agent, warp, races.clocks))
        block.fail(first.site,
                   "the product reads %zu bytes of shared memory at offset "
                   "%zu, with no fence.proxy.async after what thread %u of the "
                   "block does there at %s",
                   bytes, offset, races.clocks.getOwner(store.thread),
                   store.site);
    }
    block.warpgroups().addChunk(warp, offset);
  }

  void *const *slots;
  const ProductSlot &first;
  Block &block;
  const unsigned warp, agent;
  Warpgroups::Product &product;
};
} // namespace

void attn_emu_wgmma(float *sums, const void *lhs, std::int64_t descriptor,
                    const std::int64_t *steps, std::int32_t numSteps,
                    std::int32_t columns, bool readsBoth, bool isTransposed,
                    bool isBF16, bool accumulates, const char *site) {
  Block &block = Block::current();
  block.mayYield();
  ProductSlot slot = {sums,
                      lhs,
                      {std::uint64_t(descriptor)},
                      steps,
                      unsigned(numSteps),
                      unsigned(columns),
                      readsBoth,
                      isTransposed,
                      isBF16,
                      accumulates,
                      site};
  auto together = [](void *const *slots, std::uint32_t) {
    Beginning(slots).run();
  };
  block.meet({site, wholeWarp, /*isAligned=*/true, together}, &slot);
}

float *attn_emu_wgmma_wait(std::int32_t pending, std::int32_t sum,
                           const char *site) {
  struct Slot {
    unsigned pending;
    const char *site;
  } slot = {unsigned(pending), site};
  auto together = [](void *const *slots, std::uint32_t) {
    Block &block = Block::current();
    unsigned warp = block.self().warp();
    unsigned pending = static_cast<Slot *>(slots[0])->pending;
    Warpgroups &warpgroups = block.warpgroups();
    Races &races = block.races();
    if (warpgroups.countPending(warp) <= pending)
      return;
    unsigned agent = *warpgroups.agents[warp];
    while (warpgroups.countPending(warp) > pending) {
      const Warpgroups::Product &product = warpgroups.getOldest(warp);
      // No store has come in between, which must come later from now on.
      for (std::size_t offset : product.chunks)
        races.load(agent, offset, Warpgroups::chunkBytes, product.site);
      warpgroups.end(warp, block.shared().data());
    }
    races.clocks.advance(agent);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      races.clocks.acquireOwn(warp * warpSize + lane, agent);
  };
  Block &block = Block::current();
  block.meet({site, wholeWarp, /*isAligned=*/true, together}, &slot);
  float *sums = block.warpgroups().findTarget(
      block.self().warp(), block.self().lane(), std::uint32_t(sum));
  if (!sums)
    block.fail(site, "expected the results of a product of the warp, of which "
                     "nothing was computed");
  return sums;
}

void attn_emu_fence_proxy_async() {
  Block &block = Block::current();
  block.fences().fence(block.self().index, block.self().warp(),
                       block.races().clocks);
}

//===- Functions.cpp - What emulated threads call -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Functions.h"
#include "runtime/Emulator/Block.h"
#include "runtime/Emulator/GlobalMemory.h"

#include <cmath>
#include <limits>

using namespace attn::emulator;

std::span<const Function> attn::emulator::getFunctions() {
#define FUNCTION(name) Function(#name, reinterpret_cast<void *>(&(name)))
  static const Function functions[] = {
      FUNCTION(attn_emu_access),
      FUNCTION(attn_emu_assert_fail),
      FUNCTION(attn_emu_barrier_arrive),
      FUNCTION(attn_emu_barrier_reduce),
      FUNCTION(attn_emu_barrier_sync),
      FUNCTION(attn_emu_block_id),
      FUNCTION(attn_emu_block_size),
      FUNCTION(attn_emu_cp_async),
      FUNCTION(attn_emu_cp_async_commit_group),
      FUNCTION(attn_emu_cp_async_mbarrier_arrive),
      FUNCTION(attn_emu_cp_async_wait_group),
      FUNCTION(attn_emu_ex2_ftz),
      FUNCTION(attn_emu_fence_proxy_async),
      FUNCTION(attn_emu_grid_size),
      FUNCTION(attn_emu_lane_id),
      FUNCTION(attn_emu_ldmatrix),
      FUNCTION(attn_emu_mbarrier_arrive),
      FUNCTION(attn_emu_mbarrier_init),
      FUNCTION(attn_emu_mbarrier_inval),
      FUNCTION(attn_emu_mbarrier_wait),
      FUNCTION(attn_emu_mma),
      FUNCTION(attn_emu_movmatrix),
      FUNCTION(attn_emu_num_warps),
      FUNCTION(attn_emu_redux),
      FUNCTION(attn_emu_rsqrt),
      FUNCTION(attn_emu_shared_memory),
      FUNCTION(attn_emu_shuffle),
      FUNCTION(attn_emu_thread_id),
      FUNCTION(attn_emu_vote),
      FUNCTION(attn_emu_warp_id),
      FUNCTION(attn_emu_warp_sync),
      FUNCTION(attn_emu_wgmma),
      FUNCTION(attn_emu_wgmma_wait),
  };
#undef FUNCTION
  return functions;
}

void attn_emu_assert_fail(const char *message, const char *location) {
  Block::current().failAssertion(location, message);
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

static std::int32_t select(Dim3 size, std::int32_t dimension) {
  return std::int32_t(dimension == 0 ? size.x
                                     : (dimension == 1 ? size.y : size.z));
}

std::int32_t attn_emu_thread_id(std::int32_t dimension) {
  Block &block = Block::current();
  Dim3 size = block.options().block;
  unsigned index = block.self().index;
  return select(
      {index % size.x, index / size.x % size.y, index / size.x / size.y},
      dimension);
}

std::int32_t attn_emu_block_size(std::int32_t dimension) {
  return select(Block::current().options().block, dimension);
}

std::int32_t attn_emu_block_id(std::int32_t dimension) {
  return select(Block::current().index(), dimension);
}

std::int32_t attn_emu_grid_size(std::int32_t dimension) {
  return select(Block::current().options().grid, dimension);
}

std::int32_t attn_emu_lane_id() {
  return std::int32_t(Block::current().self().lane());
}

std::int32_t attn_emu_warp_id() {
  return std::int32_t(Block::current().self().warp());
}

std::int32_t attn_emu_num_warps() {
  return std::int32_t((Block::current().numThreads() + warpSize - 1) /
                      warpSize);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
enum class AccessKind : std::int32_t { load, store, both };

struct Access {
  const void *address;
  std::size_t bytes;
  AccessKind kind;
  const char *site;

  const char *name() const {
    switch (kind) {
    case AccessKind::load:
      return "load";
    case AccessKind::store:
      return "store";
    case AccessKind::both:
      return "update";
    }
    __builtin_unreachable();
  }
};
} // namespace

static void checkAlignment(Block &block, const Access &access,
                           std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(access.address) % alignment != 0)
    block.fail(access.site, "%s of %zu bytes at %p is not aligned to %zu bytes",
               access.name(), access.bytes, access.address, alignment);
}

static void checkOrder(Block &block, const Access &access, std::size_t offset) {
  Races &races = block.races();
  unsigned thread = block.self().index;
  if (access.kind == AccessKind::both)
    return races.updateAtomically(thread);
  const Races::Access *other =
      access.kind == AccessKind::load
          ? races.load(thread, offset, access.bytes, access.site)
          : races.store(thread, offset, access.bytes, access.site);
  if (other)
    block.fail(access.site,
               "shared %s of %zu bytes at offset %zu is not ordered after what "
               "thread %u of the block does there at %s",
               access.name(), access.bytes, offset,
               races.clocks.getOwner(other->thread), other->site);
}

static void record(Block &block, const Access &access,
                   std::optional<std::size_t> buffer) {
  if (access.kind != AccessKind::both)
    block.record({access.site, access.kind == AccessKind::store, buffer,
                  access.address, access.bytes});
}

static void checkShared(Block &block, const Access &access) {
  SharedMemory &shared = block.shared();
  std::size_t offset = shared.getOffset(access.address);
  if (!shared.isInside(offset, access.bytes))
    block.fail(access.site,
               "shared %s of %zu bytes is out of bounds: at offset %td of %zu "
               "bytes",
               access.name(), access.bytes, std::ptrdiff_t(offset),
               shared.size());
  if (const Mbarrier *mbarrier =
          block.mbarriers().findOverlap(offset, access.bytes))
    block.fail(access.site,
               "shared %s of %zu bytes at offset %zu, where there is an "
               "mbarrier, initialised at %s",
               access.name(), access.bytes, offset, mbarrier->site);
  if (shared.isInFlight(offset, access.bytes))
    block.fail(access.site,
               "shared %s of %zu bytes at offset %zu, which an asynchronous "
               "copy writes that has not been waited for",
               access.name(), access.bytes, offset);
  if (access.kind != AccessKind::store &&
      !shared.isWritten(offset, access.bytes))
    block.fail(
        access.site,
        "shared %s of %zu bytes at offset %zu, which nothing has written",
        access.name(), access.bytes, offset);
  if (access.kind != AccessKind::load) {
    if (const char *reader =
            block.warpgroups().findReader(offset, access.bytes))
      block.fail(access.site,
                 "shared %s of %zu bytes at offset %zu, which a product of a "
                 "warpgroup reads that has not been waited for, at %s",
                 access.name(), access.bytes, offset, reader);
    shared.setState(offset, access.bytes, SharedMemory::State::written);
  }
  checkOrder(block, access, offset);
  record(block, access, /*buffer=*/{});
}

static void checkGlobal(Block &block, const Access &access) {
  Place place =
      findPlace(block.options().buffers, access.address, access.bytes);
  if (!place.buffer)
    block.fail(access.site, "global %s of %zu bytes, but there is no buffer",
               access.name(), access.bytes);
  if (!place.isInside)
    block.fail(access.site,
               "global %s of %zu bytes is out of bounds: at offset %td of "
               "buffer '%s' of %zu bytes",
               access.name(), access.bytes, place.offset,
               place.buffer->name.c_str(), place.buffer->bytes);
  if (access.kind != AccessKind::load && !place.buffer->isWritable)
    block.fail(access.site,
               "global %s to buffer '%s', which may not be written",
               access.name(), place.buffer->name.c_str());
  record(block, access,
         std::size_t(place.buffer - block.options().buffers.data()));
}

void *attn_emu_shared_memory() { return Block::current().shared().data(); }

void attn_emu_access(void *address, std::int64_t bytes, std::int64_t alignment,
                     std::int32_t kind, std::int32_t space, const char *site) {
  Block &block = Block::current();
  // A loop that waits for another thread by loads ends.
  block.mayYield();
  Access access = {address, std::size_t(bytes), AccessKind(kind), site};
  checkAlignment(block, access, std::size_t(alignment));
  enum { generic = 0, shared = 3 };
  if (space == shared || (space == generic && block.shared().isShared(address)))
    checkShared(block, access);
  else if (space != generic || !block.self().fiber.holds(address))
    checkGlobal(block, access);
}

void attn_emu_cp_async(void *target, const void *source, std::int32_t bytes,
                       std::int32_t sourceBytes, const char *site) {
  Block &block = Block::current();
  block.mayYield();
  auto size = std::size_t(bytes);
  if (sourceBytes < 0 || sourceBytes > bytes)
    block.fail(site, "expected 0 to %d bytes to copy, got %d", bytes,
               sourceBytes);
  Access write = {target, size, AccessKind::store, site};
  checkAlignment(block, write, size);
  checkShared(block, write);
  if (sourceBytes > 0) {
    Access read = {source, std::size_t(sourceBytes), AccessKind::load, site};
    checkAlignment(block, read, size);
    checkGlobal(block, read);
  }
  block.shared().setState(block.shared().getOffset(target), size,
                          SharedMemory::State::inFlight);
  block.self().copies.issue({static_cast<char *>(target),
                             static_cast<const char *>(source), size,
                             std::size_t(sourceBytes), site});
}

void attn_emu_cp_async_commit_group() {
  Block::current().self().copies.commit();
}

void attn_emu_cp_async_wait_group(std::int32_t count) {
  Block &block = Block::current();
  Thread &thread = block.self();
  thread.copies.wait(std::size_t(count), [&](const AsyncCopies::Copy &copy) {
    std::size_t offset = block.shared().getOffset(copy.target);
    block.shared().setState(offset, copy.bytes, SharedMemory::State::written);
    block.races().finishStore(thread.index, offset, copy.bytes, copy.site);
  });
  if (thread.copyAgent) // Those that have arrived at mbarriers.
    block.races().clocks.acquireOwn(thread.index, *thread.copyAgent);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void attn_emu_barrier_sync(std::int32_t barrier, std::int32_t numThreads,
                           const char *site) {
  Block::current().arriveAtBarrier({.site = site,
                                    .barrier = unsigned(barrier),
                                    .expected = unsigned(numThreads)});
}

std::int32_t attn_emu_barrier_reduce(std::int32_t predicate, std::int32_t kind,
                                     const char *site) {
  BarrierCount count = Block::current().arriveAtBarrier(
      {.site = site, .reduction = kind, .predicate = predicate != 0});
  enum { popc, all, any };
  switch (kind) {
  case popc:
    return std::int32_t(count.numTrue);
  case all:
    return count.numTrue == count.numThreads;
  case any:
    return count.numTrue != 0;
  }
  __builtin_unreachable();
}

void attn_emu_barrier_arrive(std::int32_t barrier, std::int32_t numThreads,
                             const char *site) {
  Block::current().arriveAtBarrier({.site = site,
                                    .barrier = unsigned(barrier),
                                    .expected = unsigned(numThreads),
                                    .waits = false});
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static float flush(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min()
             ? std::copysign(0.0F, value)
             : value;
}

float attn_emu_ex2_ftz(float value) { return flush(std::exp2(flush(value))); }
float attn_emu_rsqrt(float value) { return 1 / std::sqrt(value); }

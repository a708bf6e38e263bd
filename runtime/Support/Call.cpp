//===- Call.cpp - A guarded call of generated code ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/Call.h"

#ifndef ATTN_SYSTEM_ALLOCATOR
#include <oneapi/tbb/scalable_allocator.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace attn::support;

// Kernels allocate the same buffers in every call. The system's allocator
// returns large ones to the system, and clearing their pages again takes longer
// than converting a tensor; TBB's keeps them.
#ifdef ATTN_SYSTEM_ALLOCATOR
static void *allocate(std::size_t size) { return std::malloc(size); }
static void release(void *allocation) { std::free(allocation); }
#else
static void *allocate(std::size_t size) { return scalable_malloc(size); }
static void release(void *allocation) { scalable_free(allocation); }
#endif

static thread_local CallRecord *currentCall = nullptr;

static void freeBlocks(CallRecord &record) {
  while (BlockHeader *block = record.blocks) {
    record.blocks = block->next;
    release(block->allocation);
  }
}

template <typename Function>
static const char *guard(CallRecord &record, const Function &function) {
  record.outer = currentCall;
  record.blocks = nullptr;
  record.message = nullptr;
  currentCall = &record;
  // All state is in `record`, so no local variable is lost by the jump.
  if (setjmp(record.failure) == 0)
    function();
  currentCall = record.outer;
  freeBlocks(record);
  return record.message;
}

const char *attn::support::runGuarded(void (*entry)(void **), void **arguments,
                                      CallRecord &record) {
  return guard(record, [=] { entry(arguments); });
}

const char *attn::support::runGuarded(ParallelBody body, void *context,
                                      ParallelRange *range,
                                      CallRecord &record) {
  return guard(record, [=] { body(context, range); });
}

const char *attn::support::keepMessage(std::string_view message) {
  static thread_local char kept[4096];
  std::size_t size = std::min(message.size(), sizeof(kept) - 1);
  std::memcpy(kept, message.data(), size);
  kept[size] = '\0';
  return kept;
}

CallRecord &attn::support::getCurrentCall() { return *currentCall; }

// The jump skips only frames of generated code, which has no destructors, and
// of the functions below, which hold nothing.
void attn_rt_fail(const char *message) {
  currentCall->message = message;
  std::longjmp(currentCall->failure, 1);
}

[[noreturn]] static void failOutOfMemory(std::size_t size) {
  std::snprintf(currentCall->text, sizeof(currentCall->text),
                "out of memory: kernel asked for %zu bytes", size);
  attn_rt_fail(currentCall->text);
}

void *attn_rt_alloc(std::size_t size, std::size_t alignment) {
  std::size_t overhead = sizeof(BlockHeader) + alignment - 1;
  if (size > std::size_t(PTRDIFF_MAX) - overhead)
    failOutOfMemory(size);
  void *allocation = allocate(size + overhead);
  if (!allocation)
    failOutOfMemory(size);
  auto address = reinterpret_cast<std::uintptr_t>(allocation) + overhead;
  auto *block = reinterpret_cast<BlockHeader *>(address & ~(alignment - 1)) - 1;
  block->allocation = allocation;
  block->previous = nullptr;
  block->next = currentCall->blocks;
  if (block->next)
    block->next->previous = block;
  currentCall->blocks = block;
  return block + 1;
}

void attn_rt_free(void *pointer) {
  BlockHeader *block = static_cast<BlockHeader *>(pointer) - 1;
  if (block->next)
    block->next->previous = block->previous;
  if (block->previous)
    block->previous->next = block->next;
  else
    currentCall->blocks = block->next;
  release(block->allocation);
}

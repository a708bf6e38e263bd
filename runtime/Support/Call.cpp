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
#include <iterator>
#include <memory>
#include <string>
#include <utility>

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

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static std::string_view getLine(const char *text, std::int64_t number) {
  std::string_view rest = text;
  for (; number > 0; --number)
    rest.remove_prefix(rest.find('\n') + 1);
  return rest.substr(0, rest.find('\n'));
}

/// The place and the name of the op, before the name of its region.
static std::string_view getOp(const Report &report) {
  std::string_view line = getLine(report.text, 0);
  return line.substr(0, line.rfind(" op '"));
}

void Report::merge(const Report &other) {
  if (!other.text)
    return;
  // The mask's before the score's, then the first reason.
  auto order = [](const Report &report) {
    return std::pair(getLine(report.text, 0), std::to_array(report.numbers));
  };
  if (!text || (getOp(*this) == getOp(other) && order(other) < order(*this)))
    *this = other;
}

static const char *describe(const Report &report) {
  std::string message(getLine(report.text, 0));
  message += ": ";
  std::string_view reason = getLine(report.text, report.numbers[0] + 1);
  while (!reason.empty()) {
    bool isNumber = reason.size() > 2 && reason[0] == '{' && reason[2] == '}' &&
                    reason[1] >= '0' && reason[1] <= '7';
    if (isNumber)
      message += std::to_string(report.numbers[reason[1] - '0' + 1]);
    else
      message += reason[0];
    reason.remove_prefix(isNumber ? 3 : 1);
  }
  return keepMessage(message);
}

void attn_rt_report(const char *text, const std::int64_t *numbers) {
  Report report{text, {}};
  std::copy_n(numbers, std::size(report.numbers), report.numbers);
  currentCall->report.merge(report);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

template <typename Function>
static const char *guard(CallRecord &record, const Function &function) {
  record.outer = currentCall;
  record.blocks = nullptr;
  record.message = nullptr;
  record.report = {};
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
  const char *message = guard(record, [=] { entry(arguments); });
  return record.report.text ? describe(record.report) : message;
}

const char *attn::support::runGuarded(ParallelBody body, void *context,
                                      ParallelRange *range,
                                      CallRecord &record) {
  return guard(record, [=] { body(context, range); });
}

const char *attn::support::keepMessage(std::string_view message) {
  // On the heap: a program that loads the library while it runs has a few
  // hundred bytes for variables of threads.
  constexpr std::size_t most = 4096;
  static thread_local const auto kept = std::make_unique<char[]>(most);
  std::size_t size = std::min(message.size(), most - 1);
  std::memcpy(kept.get(), message.data(), size);
  kept[size] = '\0';
  return kept.get();
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

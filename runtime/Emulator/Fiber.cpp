//===- Fiber.cpp - Stacks that take turns on one thread -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/Fiber.h"

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTN_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define ATTN_TSAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ATTN_ASAN
#elif defined(__SANITIZE_THREAD__)
#define ATTN_TSAN
#endif
#ifdef ATTN_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ATTN_TSAN
#include <sanitizer/tsan_interface.h>
#endif

using namespace attn::emulator;

/// Compiled kernels keep what does not fit registers there. Pages that are not
/// used take no memory.
static constexpr std::size_t size = 256 * 1024;

static std::size_t getPageSize() {
  static const auto result = std::size_t(sysconf(_SC_PAGESIZE));
  return result;
}

/// The fibers of the switch that is going on.
static thread_local Fiber *left = nullptr;
static thread_local Fiber *entered = nullptr;

#if defined(__x86_64__)
// Swaps the stack pointers; callee-saved registers are on the stacks. The
// library's swapcontext makes two system calls, and takes ten times as long.
extern "C" void attn_emu_swap_stacks(void **saved, void *restored);
asm(R"(
.text
.hidden attn_emu_swap_stacks
.globl attn_emu_swap_stacks
.type attn_emu_swap_stacks, @function
attn_emu_swap_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size attn_emu_swap_stacks, .-attn_emu_swap_stacks
)");
#endif

Fiber::~Fiber() {
#ifdef ATTN_TSAN
  if (stack && tsanFiber)
    __tsan_destroy_fiber(tsanFiber);
#endif
  if (stack)
    munmap(stack - getPageSize(), size + getPageSize());
}

bool Fiber::start(void (*newEntry)(void *), void *newArgument) {
  if (!stack) {
    std::size_t page = getPageSize();
    void *mapping = mmap(nullptr, size + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
      return false;
    mprotect(mapping, page, PROT_NONE);
    stack = static_cast<char *>(mapping) + page;
    stackBottom = stack;
    stackSize = size;
  }
  entry = newEntry;
  argument = newArgument;
#ifdef ATTN_ASAN
  ASAN_UNPOISON_MEMORY_REGION(stack, size);
  fakeStack = nullptr;
#endif
#ifdef ATTN_TSAN
  if (tsanFiber)
    __tsan_destroy_fiber(tsanFiber);
  tsanFiber = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
  // Six registers, the return address, and a word so that `enter` finds the
  // stack aligned as after a call.
  auto *top = reinterpret_cast<std::uintptr_t *>(stack + size) - 8;
  std::memset(top, 0, 8 * sizeof(*top));
  top[6] = reinterpret_cast<std::uintptr_t>(&enter);
  stackPointer = top;
#else
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = size;
  context.uc_link = nullptr;
  makecontext(&context, &enter, 0);
#endif
  return true;
}

void Fiber::enter() {
  Fiber &self = *entered;
  self.finishSwitch();
  self.entry(self.argument);
  __builtin_unreachable();
}

void Fiber::finishSwitch() {
#ifdef ATTN_ASAN
  const void *bottom;
  std::size_t bytes;
  __sanitizer_finish_switch_fiber(fakeStack, &bottom, &bytes);
  if (!left->stack) {
    // The thread's own stack is known from where it is left.
    left->stackBottom = bottom;
    left->stackSize = bytes;
  }
#endif
}

void Fiber::switchTo(Fiber &to) {
  left = this;
  entered = &to;
#ifdef ATTN_ASAN
  __sanitizer_start_switch_fiber(&fakeStack, to.stackBottom, to.stackSize);
#endif
#ifdef ATTN_TSAN
  if (!tsanFiber)
    tsanFiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsanFiber, 0);
#endif
#if defined(__x86_64__)
  attn_emu_swap_stacks(&stackPointer, to.stackPointer);
#else
  swapcontext(&context, &to.context);
#endif
  finishSwitch();
}

bool Fiber::holds(const void *address) const {
  auto *byte = static_cast<const char *>(address);
  return stack && byte >= stack && byte < stack + size;
}

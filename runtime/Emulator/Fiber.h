//===- Fiber.h - Stacks that take turns on one thread -------- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_FIBER_H
#define ATTN_RUNTIME_EMULATOR_FIBER_H

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace attn::emulator {

/// A function that runs on a stack of its own until it switches to another
/// fiber. All fibers that switch to each other live on one thread. One that was
/// never started stands for what the thread itself runs.
class Fiber {
public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Makes `entry(argument)`, which does not return, what the next switch to
  /// this fiber starts. What it ran before is abandoned: no destructor runs.
  /// False if there is no memory for a stack.
  bool start(void (*entry)(void *), void *argument);

  /// Continues `to` in place of this fiber, which runs.
  void switchTo(Fiber &to);

  /// Whether `address` lies in this fiber's stack.
  bool holds(const void *address) const;

private:
  [[noreturn]] static void enter();
  void finishSwitch();

  char *stack = nullptr; ///< Above a page that may not be touched.
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
#if defined(__x86_64__)
  void *stackPointer = nullptr;
#else
  ucontext_t context = {};
#endif

  // What sanitizers know of this fiber.
  [[maybe_unused]] void *fakeStack = nullptr;
  const void *stackBottom = nullptr;
  std::size_t stackSize = 0;
  [[maybe_unused]] void *tsanFiber = nullptr;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_FIBER_H

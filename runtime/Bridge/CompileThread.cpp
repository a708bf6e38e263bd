//===- CompileThread.cpp - A stack that is known --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CrashGuard.h"

#include <cstring>
#include <pthread.h>
#include <signal.h>
#include <vector>

using namespace attn;

/// Twice what the main thread of a program usually has; what is not used takes
/// no memory.
static constexpr std::size_t stackBytes = std::size_t(16) << 20;

/// Larger than any frame, so that no frame lies beyond it.
static constexpr std::size_t guardBytes = std::size_t(1) << 20;

/// What handlers of signals need, with the registers of AMX (11 KB) and a
/// handler of the host's that prints.
static constexpr std::size_t signalStackBytes = std::size_t(64) << 10;

/// Lets handlers run, on a stack of their own, where the thread's has
/// overflown.
static void runWithSignalStack(llvm::function_ref<void()> function) {
  alignas(64) char memory[signalStackBytes];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  sigaltstack(&stack, nullptr);
  // The caller's thread may block them, and then a crash ends the process.
  sigset_t signals = getCrashSignals(), before;
  pthread_sigmask(SIG_UNBLOCK, &signals, &before);
  function();
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

static void *runThread(void *argument) {
  auto &function = *static_cast<llvm::function_ref<void()> *>(argument);
  // A sanitizer has a signal stack, and reports, by itself.
  if (catchesCrashes)
    runWithSignalStack(function);
  else
    function();
  return nullptr;
}

Status attn::runOnThread(llvm::function_ref<void()> function) {
  return runOnThreads(function);
}

Status
attn::runOnThreads(llvm::ArrayRef<llvm::function_ref<void()>> functions) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // Neither can fail: both are multiples of every size of pages.
  pthread_attr_setstacksize(&attributes, stackBytes + guardBytes);
  pthread_attr_setguardsize(&attributes, guardBytes);
  std::vector<pthread_t> threads;
  int failure = 0;
  for (const llvm::function_ref<void()> &function : functions) {
    pthread_t thread;
    failure =
        pthread_create(&thread, &attributes, runThread,
                       const_cast<llvm::function_ref<void()> *>(&function));
    if (failure)
      break;
    threads.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  if (failure)
    return Error{"cannot start a thread to compile on: " +
                     std::string(std::strerror(failure)),
                 {}};
  return {};
}

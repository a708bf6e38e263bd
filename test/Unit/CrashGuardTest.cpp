//===- CrashGuardTest.cpp - Crashes that end nothing ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/CrashGuard.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CompileTrace.h"

#include "llvm/Support/ErrorHandling.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace attn;

namespace {

/// How `function` ends under a guard, on a thread of its own.
std::optional<std::string> guardOnThread(llvm::function_ref<void()> function) {
  std::optional<std::string> crash;
  Status status = runOnThread([&] { crash = runGuarded(function); });
  EXPECT_TRUE(status.ok());
  return crash;
}

volatile int *volatile nowhere = nullptr;

// Volatile, so that the compiler makes no loop of it; nothing holds 1.
[[gnu::noinline]] int overflow(volatile int *outer) {
  volatile int inner[256] = {outer ? *outer : 0};
  return inner[0] == 1 ? 0 : overflow(inner) + inner[1];
}

/// A handler of the host's, on a page that may not be written until it ran.
struct Host {
  static inline void *page = nullptr;
  static inline std::atomic<int> calls = 0;
  static inline std::atomic<void *> address = nullptr;
  static inline std::atomic<bool> hasContext = false;

  static void handle(int, siginfo_t *info, void *context) {
    ++calls;
    address = info->si_addr;
    hasContext = context != nullptr;
    mprotect(page, std::size_t(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE);
  }

  Host() {
    page = mmap(nullptr, std::size_t(sysconf(_SC_PAGESIZE)), PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    calls = 0;
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
  }
  ~Host() {
    sigaction(SIGSEGV, &before, nullptr);
    munmap(page, std::size_t(sysconf(_SC_PAGESIZE)));
  }

  /// Faults in the calling thread, as a JVM does when a page is to be touched.
  static void fault() {
    mprotect(page, std::size_t(sysconf(_SC_PAGESIZE)), PROT_NONE);
    auto *byte = static_cast<volatile char *>(page) + 40;
    *byte = 1;
    EXPECT_EQ(address, static_cast<char *>(page) + 40);
    EXPECT_TRUE(hasContext);
  }

  struct sigaction before;
};

/// What handles SIGSEGV now.
void *currentHandler() {
  struct sigaction action;
  sigaction(SIGSEGV, nullptr, &action);
  return reinterpret_cast<void *>(action.sa_sigaction);
}

class CrashGuard : public testing::Test {
protected:
  void SetUp() override {
    if (!catchesCrashes)
      GTEST_SKIP() << "a sanitizer reports crashes";
  }
};

TEST_F(CrashGuard, WhatReturns) {
  bool ran = false;
  EXPECT_EQ(guardOnThread([&] { ran = true; }), std::nullopt);
  EXPECT_TRUE(ran);
}

TEST_F(CrashGuard, Signals) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(guardOnThread([] { *nowhere = 1; }), "SIGSEGV");
    EXPECT_EQ(guardOnThread([] { std::abort(); }), "SIGABRT");
    EXPECT_EQ(guardOnThread([] { raise(SIGFPE); }), "SIGFPE");
    EXPECT_EQ(guardOnThread([] { raise(SIGILL); }), "SIGILL");
    EXPECT_EQ(guardOnThread([] { raise(SIGBUS); }), "SIGBUS");
  }
}

TEST_F(CrashGuard, StackOverflow) {
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(guardOnThread([] { overflow(nullptr); }), "SIGSEGV");
}

TEST_F(CrashGuard, FatalErrors) {
  EXPECT_EQ(guardOnThread([] { llvm::reportFatalInternalError("no luck"); }),
            "no luck");
  // Which would exit.
  EXPECT_EQ(guardOnThread([] { llvm::reportFatalUsageError("no way"); }),
            "no way");
}

TEST_F(CrashGuard, SignalsThatTheCallerBlocks) {
  sigset_t signals = getCrashSignals(), before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  EXPECT_EQ(guardOnThread([] { *nowhere = 1; }), "SIGSEGV");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(CrashGuard, HandlersOfTheHost) {
  void *original = currentHandler();
  {
    Host host;
    host.fault();
    EXPECT_EQ(guardOnThread([&] {
                EXPECT_NE(currentHandler(),
                          reinterpret_cast<void *>(Host::handle));
                std::thread([&] { host.fault(); }).join();
                *nowhere = 1;
              }),
              "SIGSEGV");
    EXPECT_EQ(currentHandler(), reinterpret_cast<void *>(Host::handle));
    host.fault();
    EXPECT_EQ(host.calls, 3);
  }
  EXPECT_EQ(currentHandler(), original);
}

TEST_F(CrashGuard, SignalsOfOtherProcesses) {
  static std::atomic<int> code = 0;
  struct sigaction action = {}, before;
  action.sa_sigaction = [](int, siginfo_t *info, void *) {
    code = info->si_code;
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGABRT, &action, &before);
  bool returned = false;
  EXPECT_EQ(guardOnThread([&] {
              // As another would, for whom it has this code.
              pthread_sigqueue(pthread_self(), SIGABRT, {});
              returned = true;
            }),
            std::nullopt);
  sigaction(SIGABRT, &before, nullptr);
  EXPECT_TRUE(returned);
  EXPECT_EQ(code, SI_QUEUE);
}

TEST_F(CrashGuard, DefaultActionOfOtherThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto crashElsewhere = [](void (*crash)()) {
    (void)guardOnThread([&] { std::thread(crash).join(); });
  };
  EXPECT_EXIT(crashElsewhere([] { *nowhere = 1; }),
              testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(crashElsewhere([] { std::abort(); }),
              testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(crashElsewhere([] { llvm::reportFatalInternalError("no luck"); }),
              testing::KilledBySignal(SIGABRT), "LLVM ERROR: no luck");
}

TEST_F(CrashGuard, HandlersSetMeanwhile) {
  std::optional<Host> host;
  EXPECT_EQ(guardOnThread([&] { host.emplace(); }), std::nullopt);
  EXPECT_EQ(currentHandler(), reinterpret_cast<void *>(Host::handle));
  EXPECT_EQ(guardOnThread([&] { std::thread([&] { host->fault(); }).join(); }),
            std::nullopt);
  EXPECT_EQ(host->calls, 1);
  EXPECT_EQ(currentHandler(), reinterpret_cast<void *>(Host::handle));
  host.reset(); // Puts back the guard's.
  EXPECT_EQ(guardOnThread([] { *nowhere = 1; }), "SIGSEGV");
  EXPECT_EQ(currentHandler(), nullptr);
}

TEST_F(CrashGuard, WhatWasDiagnosedBefore) {
  auto crash = [](CompileTrace &trace) -> Expected<int> {
    trace.enter("in a test");
    mlir::emitError(
        mlir::FileLineColLoc::get(trace.getContext(), "a.mlir", 3, 4))
        << "this is wrong";
    *nowhere = 1;
    return 0;
  };
  mlir::DialectRegistry registry;
  Expected<int> result =
      compileGuarded<int>("cannot test", "a.mlir", registry, crash);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "cannot test: a.mlir:3:4: this is wrong");
  ASSERT_EQ(result.error().diagnostics.size(), 2u);
  EXPECT_EQ(result.error().diagnostics[1].message,
            "the compiler crashed in a test (SIGSEGV)");
}

TEST_F(CrashGuard, ManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      for (int round = 0; round < 50; ++round) {
        if (i % 2)
          EXPECT_EQ(guardOnThread([] { *nowhere = 1; }), "SIGSEGV");
        else
          EXPECT_EQ(guardOnThread([] {}), std::nullopt);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

//===- CompileCrashesTest.cpp - Text that must not end the process --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/blocks.h"
#include "attn/object.h"
#include "runtime/Bridge/CrashGuard.h"
#include "test/Unit/JITTesting.h"

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace attn;
using namespace attn::test;

namespace {

/// Upstream's verifier looks for the size of dimension -1, written so that no
/// check of the text finds it. Line 4, column 8.
const std::string crashingText = R"(
func.func @f(%q: tensor<?x8xf32>, %r: tensor<?x8xf32>) -> tensor<?x?xf32> {
  %unused = arith.constant 1 : i32
  %y = "tensor.concat"(%q, %r) <{dim = -1 : i64}>
      : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
})";

void expectCrash(const Error &error, const std::string &what) {
  EXPECT_EQ(error.message,
            what + ": kernel.mlir:4:8: the compiler crashed verifying this "
                   "(SIGSEGV)");
  ASSERT_EQ(error.diagnostics.size(), 1u);
  EXPECT_EQ(error.diagnostics[0].file, "kernel.mlir");
  EXPECT_EQ(error.diagnostics[0].line, 4u);
  EXPECT_EQ(error.diagnostics[0].column, 8u);
}

/// Compiles something that is in no cache.
void compileAnew(int number) {
  Expected<Kernel> kernel = getEngine().compile("// " + std::to_string(number) +
                                                "\n" + matmulText("f32"));
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
}

class CompileCrashes : public testing::Test {
protected:
  void SetUp() override {
    if (!catchesCrashes)
      GTEST_SKIP() << "a sanitizer reports crashes";
  }
};

TEST_F(CompileCrashes, IsAnError) {
  for (int i = 0; i < 3; ++i) {
    expectCrash(compileError(crashingText, {.fileName = "kernel.mlir"}),
                "cannot compile");
    compileAnew(i);
  }
}

TEST_F(CompileCrashes, OfObjectsAndBlocks) {
  auto object = compileToObject(crashingText, {.fileName = "kernel.mlir"});
  ASSERT_FALSE(object.ok());
  expectCrash(object.error(), "cannot compile");
  auto blocks = showBlocks(crashingText, {.fileName = "kernel.mlir"});
  ASSERT_FALSE(blocks.ok());
  expectCrash(blocks.error(), "cannot show blocks");
}

TEST_F(CompileCrashes, InTheParser) {
  // The attribute hides the list from the check of the text.
  Error error = compileError(R"(func.func @f(%a: f32) {
  %x = tensor.from_elements %a {a.b} : tensor<2305843009213693952xf32>
  return
})");
  EXPECT_TRUE(error.message.starts_with(
      "cannot compile: <string>:1:23: the compiler crashed parsing what "
      "follows (SmallVector unable to grow"))
      << error.message;
}

TEST_F(CompileCrashes, WhoWaitsGetsTheErrorToo) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      for (int round = 0; round < 5; ++round) {
        if (i % 2)
          expectCrash(compileError(crashingText, {.fileName = "kernel.mlir"}),
                      "cannot compile");
        else
          compileAnew(100 * i + round);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Runs `function` on a thread with little stack.
void runOnSmallStack(void (*function)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 64 << 10), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void *argument) -> void * {
                  reinterpret_cast<void (*)()>(argument)();
                  return nullptr;
                },
                reinterpret_cast<void *>(function)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

class CompileThread : public testing::Test {
protected:
  void SetUp() override {
    if (!catchesCrashes)
      GTEST_SKIP() << "a sanitizer's frames are larger";
  }
};

TEST_F(CompileThread, CallerWithALittleStack) {
  runOnSmallStack([] {
    compileAnew(1000);
    compileAnew(1000); // From the cache.
    EXPECT_FALSE(getEngine().compile("func.func @f(").ok());
    EXPECT_TRUE(compileToObject(matmulText("f32")).ok());
    EXPECT_TRUE(showBlocks(R"(
func.func @f(%q: tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>,
          tensor<1x1x8x4xf32>)
      outs(%q : tensor<1x1x8x4xf32>) mask causal
  return %o : tensor<1x1x8x4xf32>
})")
                    .ok());
  });
}

TEST_F(CompileThread, BuilderOfACallerWithALittleStack) {
  runOnSmallStack([] {
    Attention attention;
    attention.mask = causal() && slidingWindow(100, 0);
    attention.score = softcap(30.0);
    Expected<Kernel> kernel = getEngine().compile(attention);
    EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  });
}

TEST_F(CompileThread, EngineOfACallerWithALittleStack) {
  runOnSmallStack([] {
    Expected<Engine> engine =
        Engine::create({.cacheDirectory = testing::TempDir() + "small-stack"});
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    for (int i = 0; i < 2; ++i) // The second from the disk.
      EXPECT_TRUE(Engine(*Engine::create({.cacheDirectory = testing::TempDir() +
                                                            "small-stack"}))
                      .compile(matmulText("f32"))
                      .ok());
  });
}

/// Compiles when there is too little address space for another stack.
[[noreturn]] void compileWithoutThread() {
  const Engine &engine = getEngine();
  rlimit limit = {1 << 20, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  Expected<Kernel> kernel = engine.compile(matmulText("f32"));
  bool isRight = !kernel && kernel.error().message.starts_with(
                                "cannot start a thread to compile on: ");
  _exit(isRight ? 0 : 1);
}

/// A host's handler, which puts a page where one was missing.
void allowPage(int, siginfo_t *info, void *context) {
  auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  auto size = std::uintptr_t(sysconf(_SC_PAGESIZE));
  if (!context || mprotect(reinterpret_cast<void *>(address / size * size),
                           size, PROT_READ | PROT_WRITE) != 0)
    _exit(1);
}

TEST_F(CompileCrashes, HostThatLivesFromFaults) {
  auto pageSize = std::size_t(sysconf(_SC_PAGESIZE));
  void *page =
      mmap(nullptr, pageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  struct sigaction action = {}, before;
  action.sa_sigaction = allowPage;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);

  std::atomic<bool> stop = false;
  std::thread host([&] {
    do {
      mprotect(page, pageSize, PROT_NONE);
      *static_cast<volatile char *>(page) = 1; // Or the process ends here.
    } while (!stop);
  });
  for (int round = 0; round < 5; ++round) {
    compileAnew(3000 + round);
    expectCrash(compileError(crashingText, {.fileName = "kernel.mlir"}),
                "cannot compile");
  }
  stop = true;
  host.join();
  sigaction(SIGSEGV, nullptr, &action);
  EXPECT_EQ(action.sa_sigaction, allowPage);
  sigaction(SIGSEGV, &before, nullptr);
  munmap(page, pageSize);
}

TEST_F(CompileCrashes, NoThreadToBeHad) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compileWithoutThread(), testing::ExitedWithCode(0), "");
}

} // namespace

//===- ResourcesTest.cpp - Threads, memory and stack of kernels -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Covering.h"
#include "test/Execution/KernelCache.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<ElementType> fastTypes = {ElementType::f32, ElementType::f16,
                                            ElementType::bf16};

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Kernel compileWith(const EngineOptions &options, const std::string &text) {
  Expected<Engine> engine = Engine::create(options);
  if (!engine)
    throw std::runtime_error(engine.error().message);
  Expected<Kernel> kernel = engine->compile(text);
  if (!kernel)
    throw std::runtime_error(kernel.error().message);
  return *kernel;
}

TEST(Resources, attention_a15_the_same_bits_on_any_threads) {
  for (ElementType type : fastTypes) {
    KernelText text{.type = type,
                    .queryHeads = 4,
                    .keySize = 8,
                    .valueSize = 8,
                    .clauses = "score softcap(5.0) mask causal"};
    std::string written = text.write();
    TestTensor query = normal(type, {2, 4, 150, 8}, 1),
               key = normal(type, {2, 1, 300, 8}, 2),
               value = normal(type, {2, 1, 300, 8}, 3);
    std::vector<Argument> arguments = {query.view(), key.view(), value.view()};
    std::atomic<int> numTasks = 0;
    EngineOptions one{.cacheDirectory = getCacheDirectory(), .threads = 1},
        two{.cacheDirectory = getCacheDirectory(), .threads = 2},
        host{.cacheDirectory = getCacheDirectory(),
             .threads = 3,
             .parallelFor = [&](int count, const ParallelTask &task) {
               std::vector<std::thread> threads;
               for (int i = count - 1; i >= 0; --i)
                 threads.emplace_back([&, i] {
                   ++numTasks;
                   task(i);
                 });
               for (std::thread &thread : threads)
                 thread.join();
             }};
    Kernel alone = compileWith(one, written);
    Outcome expected = run(alone, arguments);
    EXPECT_EQ(expected.error, "");
    for (const EngineOptions *options : {&two, &host}) {
      Kernel kernel = compileWith(*options, written);
      std::vector<Outcome> outcomes(2);
      std::vector<std::thread> callers;
      for (Outcome &outcome : outcomes)
        callers.emplace_back([&] { outcome = run(kernel, arguments); });
      for (std::thread &caller : callers)
        caller.join();
      for (const Outcome &outcome : outcomes) {
        EXPECT_EQ(outcome.error, "");
        EXPECT_EQ(outcome.output, expected.output);
        EXPECT_EQ(outcome.logSumExp, expected.logSumExp);
      }
    }
    EXPECT_GT(numTasks, 1);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A line such as "VmHWM: 1234 kB" of /proc/self/status, in bytes; 0 if there
/// is none.
std::size_t readStatus(const std::string &name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":"))
      return std::stoull(line.substr(name.size() + 1)) * 1024;
  return 0;
}

/// Makes the peak of resident memory what it is now.
bool resetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return bool(file);
}

TEST(Resources, memory_is_linear_in_the_sequence) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  // Scores would take 16 GiB.
  constexpr Index length = 65536, size = 64;
  KernelText text{.type = ElementType::f32,
                  .keySize = size,
                  .valueSize = size,
                  .clauses = "mask sliding_window(255, 0)"};
  Kernel kernel = compileWith({.threads = 2}, text.write());
  TestTensor query = normal(text.type, {1, 1, length, size}, 1),
             key = normal(text.type, {1, 1, length, size}, 2),
             value = normal(text.type, {1, 1, length, size}, 3),
             output(text.type, {1, 1, length, size}),
             lse(text.type, {1, 1, length});
  std::vector<Argument> arguments = {query.view(), key.view(), value.view()};
  std::vector<TensorView> results = {output.mutableView(), lse.mutableView()};
  if (!resetPeak())
    GTEST_SKIP() << "cannot reset the peak of resident memory";
  std::size_t before = readStatus("VmHWM");
  ASSERT_GT(before, 4 * length * size * sizeof(float));
  Status status = kernel.run(arguments, results);
  ASSERT_TRUE(status.ok()) << status.error().message;
  std::size_t extra = readStatus("VmHWM") - before;
  EXPECT_LT(extra, std::size_t(8) << 20);

  // A few rows by the definition.
  auto element = [&](const TestTensor &tensor, Index row, Index d) {
    return double(
        static_cast<const float *>(tensor.view().data())[row * size + d]);
  };
  for (Index i : {Index(0), Index(300), Index(40000), length - 1}) {
    Index first = std::max(Index(0), i - 255);
    std::vector<double> weights, sums(size);
    double total = 0;
    for (Index j = first; j <= i; ++j) {
      double score = 0;
      for (Index d = 0; d < size; ++d)
        score += element(query, i, d) * element(key, j, d);
      double weight = std::exp(score / 8);
      total += weight;
      for (Index d = 0; d < size; ++d)
        sums[std::size_t(d)] += weight * element(value, j, d);
    }
    for (Index d = 0; d < size; ++d)
      EXPECT_NEAR(element(output, i, d), sums[std::size_t(d)] / total, 1e-5);
  }
}

//===----------------------------------------------------------------------===//
// Stack
//===----------------------------------------------------------------------===//

/// Runs `body` on a thread with a small stack.
void runOnSmallStack(std::size_t size, std::function<void()> body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size), 0);
  pthread_t thread;
  auto call = [](void *body) -> void * {
    (*static_cast<std::function<void()> *>(body))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &body), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Resources, large_heads_need_little_stack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers make frames larger";
#endif
  // A tile of queries of this head size does not fit in such a stack.
  for (auto [type, mask] : coverChoices<ElementType, const char *>(
           fastTypes, {"", "mask causal"})) {
    KernelText text{
        .type = type, .keySize = 512, .valueSize = 512, .clauses = mask};
    Kernel kernel = compileWith({.threads = 1}, text.write());
    TestTensor query = normal(type, {1, 1, 100, 512}, 1),
               key = normal(type, {1, 1, 130, 512}, 2),
               value = normal(type, {1, 1, 130, 512}, 3);
    std::vector<Argument> arguments = {query.view(), key.view(), value.view()};
    Outcome expected = run(kernel, arguments), outcome;
    runOnSmallStack(std::size_t(128) << 10,
                    [&] { outcome = run(kernel, arguments); });
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.output, expected.output);
  }
}

} // namespace

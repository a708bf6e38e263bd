//===- JITCacheMemoryTest.cpp - Which kernels stay in memory --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thousands of kernels, and what the process has mapped for them: not for
// sanitizers, which keep memory of their own.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Random.h"
#include "test/Unit/JITCacheTesting.h"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::test;

namespace {

/// What an engine remembers of kernels that nobody holds.
constexpr int numRecent = 128;

/// Where `engine` has the kernel from.
Source sourceOf(const Engine &engine, int number) {
  Expected<Kernel> kernel = engine.compile(appendText(number));
  EXPECT_TRUE(kernel.ok());
  EXPECT_EQ(kernel ? appended(*kernel) : -1, number);
  return kernel ? kernel->stats().source : Source::compiler;
}

TEST_F(JITCache, RemembersWhatIsHeldAndTheLastOnes) {
  Engine engine = createEngine(directory);
  Expected<Kernel> held = engine.compile(appendText(0));
  ASSERT_TRUE(held.ok());
  for (int i = 1; i <= numRecent; ++i)
    EXPECT_EQ(sourceOf(engine, i), Source::compiler);
  EXPECT_EQ(sourceOf(engine, 1), Source::memoryCache); // And is the last now.
  EXPECT_EQ(sourceOf(engine, 0), Source::memoryCache); // 2 is forgotten.
  EXPECT_EQ(sourceOf(engine, 1), Source::memoryCache);
  EXPECT_EQ(sourceOf(engine, 3), Source::memoryCache);
  EXPECT_EQ(sourceOf(engine, 2), Source::diskCache);
  EXPECT_EQ(appended(*held), 0);
}

std::size_t countMappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::size_t count = 0;
  while (std::getline(maps, line))
    ++count;
  return count;
}

/// Of this process, in pages.
std::size_t countResidentPages() {
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

TEST_F(JITCache, DroppedKernelsReturnTheirMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  constexpr int numTexts = numRecent + 2; // In turn: none is remembered.
  Engine engine = createEngine(directory);
  for (int i = 0; i < 2 * numTexts; ++i)
    EXPECT_EQ(sourceOf(engine, i % numTexts),
              i < numTexts ? Source::compiler : Source::diskCache);
  std::size_t mappings = countMappings(), pages = countResidentPages();
  ASSERT_GT(mappings, 2u * numRecent);
  ASSERT_GT(pages, 0u);
  const int numCompiles = test::numCases(20000);
  for (int i = 0; i < numCompiles; ++i)
    ASSERT_EQ(sourceOf(engine, i % numTexts), Source::diskCache);
  // Were they kept, it would be two mappings and some pages for each.
  EXPECT_LT(countMappings(), mappings + 100);
  EXPECT_LT(countResidentPages(), pages + numCompiles / 2);
}

TEST_F(JITCache, KernelsThatLive) {
  constexpr int numTexts = 4, numEngines = 500;
  std::vector<Kernel> kernels;
  for (int i = 0; i < numEngines; ++i) {
    Engine engine = createEngine(directory);
    for (int j = 0; j < numTexts; ++j) {
      Expected<Kernel> kernel = engine.compile(appendText(j));
      ASSERT_TRUE(kernel.ok());
      kernels.push_back(*kernel);
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i)
    ASSERT_EQ(appended(kernels[i]), int(i % numTexts));
  std::size_t mappings = countMappings();
  std::size_t expected = 2 * kernels.size();
  kernels.clear();
  EXPECT_LT(countMappings() + expected / 2, mappings);
}

} // namespace

//===- KernelFuzzer.cpp - Compiles, runs and checks mutated kernels -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is a module. It goes through what "attn-run --check" does: whatever
// error comes, the process must live on. Inputs are made as those of
// mutate-kernels are.
//
//===----------------------------------------------------------------------===//

#include "test/Fuzz/KernelCheck.h"
#include "test/Fuzz/KernelSeeds.h"
#include "test/Fuzz/Mutation.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>

using namespace attn;
using namespace attn::test;

static const std::vector<std::string> &getSeeds() {
  static const std::vector<std::string> seeds = readKernelSeeds();
  return seeds;
}

/// One in so many inputs begins with a module of the tree.
static constexpr int inputsPerSeed = 8;

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data,
                                               std::size_t size,
                                               std::size_t maxSize,
                                               unsigned seed) {
  Random random(seed);
  std::string text(reinterpret_cast<const char *>(data), size);
  if (size < 16 || random.between(1, inputsPerSeed) == 1)
    text = random.pick(getSeeds());
  text = mutate(text, random.pick(getSeeds()), random);
  if (text.size() > maxSize)
    return size; // Half a kernel is none.
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
                                      std::size_t size) {
  // An engine keeps what it compiles.
  static std::optional<Engine> engine;
  static unsigned uses = 0;
  if (uses++ % 500 == 0) {
    EngineOptions options;
    options.threads = 1;
    Expected<Engine> created = Engine::create(options);
    if (!created)
      std::abort();
    engine.emplace(*created);
  }
  std::string text(reinterpret_cast<const char *>(data), size);
  std::uint64_t seed = std::hash<std::string>()(text);
  CompileOptions options;
  if (std::vector<std::string> names = findFunctions(text); !names.empty())
    options.entry = names[seed % names.size()];
  options.pipeline = seed / 256 % 2 ? "cpu" : "reference";
  (void)checkKernel(*engine, text, options, seed);
  return 0;
}

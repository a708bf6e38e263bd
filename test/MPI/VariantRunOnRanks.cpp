//===- VariantRunOnRanks.cpp - A call of a variant on ranks ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The gallery's tests as one of several ranks: of each variant, every rank
// computes its part, and rank 0 puts them together and compares.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/VariantRun.h"

#include "attn/ranks.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace attn;

namespace {

/// What the test says: how to split, and where ranks share what they compile.
std::string readVariable(const char *name) {
  const char *value = std::getenv(name);
  if (!value)
    ADD_FAILURE() << "expected a variable " << name;
  return value ? value : "";
}

const Ranks &getRanks() {
  static const Expected<Ranks> ranks =
      Ranks::create({.timeLimit = 60, .sharesCache = true});
  if (!ranks) {
    ADD_FAILURE() << ranks.error().message;
    std::abort();
  }
  return *ranks;
}

/// What goes wrong on one rank fails the test on all of them.
bool expectOk(const Status &status) {
  EXPECT_TRUE(status.ok()) << status.error().message;
  return status.ok();
}

} // namespace

bool test::runVariant(const Attention &attention,
                      const CreateArguments &createArguments,
                      std::span<const TensorView> results) {
  static const std::string split = readVariable("ATTN_TEST_SPLIT");
  static const Expected<Engine> engine = Engine::create(
      {.cacheDirectory = readVariable("ATTN_TEST_CACHE"), .threads = 1});
  EXPECT_TRUE(engine.ok());
  Expected<std::string> text = attention.text();
  EXPECT_TRUE(text.ok());
  const Ranks &ranks = getRanks();
  // Which takes a fraction of the time to compile; what is special about ranks
  // is done before it.
  Expected<RankKernel> kernel =
      ranks.compile(*engine, *text, {.pipeline = "reference"}, split);
  EXPECT_TRUE(kernel.ok()) << (kernel ? "" : kernel.error().message);
  if (!kernel)
    return false;
  std::vector<Argument> whole = createArguments(kernel->signature), own;
  std::vector<std::vector<std::byte>> memory;
  auto allocate = [&](ElementType type,
                      const std::vector<std::int64_t> &sizes) {
    std::size_t bytes = sizeOf(type);
    for (std::int64_t size : sizes)
      bytes *= std::size_t(size);
    memory.emplace_back(bytes);
    return TensorView(memory.back().data(), type, sizes, /*readOnly=*/false);
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    own.push_back(whole[i]);
    const Shard &shard = kernel->arguments[i];
    if (!whole[i].view() || shard.isWhole())
      continue;
    const TensorView &view = *whole[i].view();
    TensorView part =
        allocate(view.type(), kernel->partSizes(shard, view, ranks.rank()));
    kernel->copyPart(shard, view, ranks.rank(), part);
    own.back() = part;
  }
  auto shapes = kernel->kernel.resultShapes(own);
  EXPECT_TRUE(shapes.ok()) << (shapes ? "" : shapes.error().message);
  if (!shapes)
    return false;
  std::vector<TensorView> parts;
  for (std::size_t i = 0; i < shapes->size(); ++i)
    parts.push_back(allocate(results[i].type(), (*shapes)[i]));
  bool isRun = expectOk(kernel->kernel.run(own, parts));
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!expectOk(ranks.collect(*kernel, i, parts[i], results[i])))
      return false;
  return isRun && ranks.rank() == 0;
}

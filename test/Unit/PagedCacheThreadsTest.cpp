//===- PagedCacheThreadsTest.cpp - A paged cache and many threads ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Races on rows, as kernels would write and read them, are ThreadSanitizer's to
// find.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/PagedCacheTesting.h"

#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

/// Serves requests that start with `prefix`, of which `parent` holds the
/// tokens: forks, decodes with another sequence, rejects some tokens, frees.
void serve(PagedCache cache, SequenceId parent, const Tokens &prefix,
           Token firstToken) {
  for (Token request = 0; request < 200; ++request) {
    std::size_t shared = request % (prefix.size() + 1);
    Ids ids = {*cache.fork(parent, std::int64_t(shared)),
               *cache.createSequence()};
    Tokens forked(prefix.begin(), prefix.begin() + std::ptrdiff_t(shared));
    Tokens fresh;
    Token token = firstToken + request * 100;
    for (std::int64_t turn = 0; turn < 10; ++turn) {
      Expected<CacheStep> step = cache.append(ids, Counts{turn % 3, 1});
      if (!step) // The other threads have all pages.
        break;
      ASSERT_TRUE(startsWith(cache, *step, 0, forked));
      ASSERT_TRUE(startsWith(cache, *step, 1, fresh));
      Tokens first, second = {token++};
      for (std::int64_t i = 0; i < turn % 3; ++i)
        first.push_back(token++);
      writeNew(cache, *step, 0, first);
      writeNew(cache, *step, 1, second);
      if (turn % 5 == 4)
        continue; // The kernel failed.
      step->commit();
      forked.insert(forked.end(), first.begin(), first.end());
      fresh.insert(fresh.end(), second.begin(), second.end());
      if (turn == 5) {
        forked.resize(forked.size() / 2);
        ASSERT_EQ(errorOf(cache.truncate(ids[0], std::int64_t(forked.size()))),
                  "");
      }
    }
    ASSERT_TRUE(holds(cache, ids[0], forked));
    ASSERT_TRUE(holds(cache, ids[1], fresh));
    for (SequenceId sequence : ids)
      ASSERT_EQ(errorOf(cache.free(sequence)), "");
    ASSERT_TRUE(holds(cache, parent, prefix));
    ASSERT_GE(cache.freePages(), 0);
  }
}

TEST(PagedCacheThreads, ShareAPrefix) {
  PagedCache cache = *PagedCache::create(
      {.pages = 24, .pageSize = 4, .layers = 2, .headSize = 3});
  SequenceId parent = *cache.createSequence();
  Tokens prefix = {1, 2, 3, 4, 5, 6};
  append(cache, parent, prefix);
  std::vector<std::thread> threads;
  for (Token i = 1; i <= 6; ++i)
    threads.emplace_back([&, i] { serve(cache, parent, prefix, i * 100000); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(cache.freePages(), 24 - 2);
}

} // namespace

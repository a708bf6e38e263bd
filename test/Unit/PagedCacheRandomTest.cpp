//===- PagedCacheRandomTest.cpp - A paged cache and a simple model --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the model, each sequence is a vector of its tokens.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Seeds.h"
#include "test/Unit/PagedCacheTesting.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

using namespace attn;
using namespace attn::test;

namespace {

/// How often things happened that most runs should see.
struct Events {
  unsigned commits = 0, rollbacks = 0, exhaustions = 0, copies = 0,
           refusals = 0;
};

class RandomRun {
public:
  RandomRun(std::uint32_t seed, Events &events)
      : random(seed), events(events),
        cache(*PagedCache::create(
            {.pages = pick(2, 24),
             .pageSize = pick(1, 5),
             .layers = pick(1, 2),
             .keyValueHeads = pick(1, 2),
             .headSize = pick(1, 3),
             .valueHeadSize = pick(1, 3),
             .type = std::array{ElementType::f32, ElementType::f16,
                                ElementType::bf16,
                                ElementType::i8}[pick(0, 3)]})) {}

  void run(unsigned operations) {
    for (unsigned i = 0; i < operations; ++i) {
      SCOPED_TRACE(testing::Message() << "operation " << i);
      operate();
      check();
      if (testing::Test::HasFailure())
        return;
    }
    while (!steps.empty())
      endStep();
    while (!sequences.empty())
      free(sequences.begin()->first);
    EXPECT_EQ(cache.freePages(), cache.options().pages);
  }

private:
  /// A step that is neither committed nor over.
  struct Step {
    CacheStep step;
    Ids ids;
    std::vector<Tokens> newTokens;
  };
  struct Model {
    Tokens tokens;
    bool appending = false;
    int readers = 0;
    bool inUse() const { return appending || readers > 0; }
  };

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + std::int64_t(random() % std::uint32_t(high - low + 1));
  }
  SequenceId pickSequence() {
    return std::next(sequences.begin(),
                     std::ptrdiff_t(random() % sequences.size()))
        ->first;
  }

  void operate() {
    std::int64_t operation = pick(0, 99);
    if (sequences.empty() || operation < 8)
      create();
    else if (operation < 20)
      fork(pickSequence());
    else if (operation < 30)
      truncate(pickSequence());
    else if (operation < 40)
      free(pickSequence());
    else if (operation < 70 && steps.size() < 3)
      beginStep();
    else if (!steps.empty())
      endStep();
  }

  void expectRefused(const std::string &message) {
    EXPECT_NE(message, "");
    ++events.refusals;
  }

  void create() { sequences[*cache.createSequence()]; }

  void fork(SequenceId parent) {
    const Model &model = sequences[parent];
    std::int64_t length = pick(0, std::int64_t(model.tokens.size()));
    Expected<SequenceId> child = cache.fork(parent, length);
    if (model.appending)
      return expectRefused(errorOf(child));
    ASSERT_EQ(errorOf(child), "");
    Tokens tokens(model.tokens.begin(), model.tokens.begin() + length);
    sequences[*child].tokens = std::move(tokens);
  }

  void truncate(SequenceId sequence) {
    Model &model = sequences[sequence];
    std::int64_t length = pick(0, std::int64_t(model.tokens.size()));
    Status status = cache.truncate(sequence, length);
    if (model.inUse())
      return expectRefused(errorOf(status));
    ASSERT_EQ(errorOf(status), "");
    model.tokens.resize(std::size_t(length));
  }

  void free(SequenceId sequence) {
    Status status = cache.free(sequence);
    if (sequences[sequence].inUse())
      return expectRefused(errorOf(status));
    ASSERT_EQ(errorOf(status), "");
    sequences.erase(sequence);
  }

  void beginStep() {
    Ids all, ids;
    for (const auto &[id, model] : sequences)
      all.push_back(id);
    std::shuffle(all.begin(), all.end(), random);
    all.resize(std::size_t(pick(0, std::int64_t(all.size()))));
    Counts counts;
    std::vector<Tokens> newTokens;
    bool isRefused = false;
    for (SequenceId id : all) {
      std::int64_t count = pick(0, 2) * pick(0, cache.options().pageSize);
      const Model &model = sequences[id];
      bool isBusy = model.appending || (count > 0 && model.readers > 0);
      if (isBusy && pick(0, 3) > 0)
        continue; // Most batches are fine.
      isRefused |= isBusy;
      ids.push_back(id);
      counts.push_back(count);
      Tokens &tokens = newTokens.emplace_back();
      for (std::int64_t i = 0; i < count; ++i)
        tokens.push_back(nextToken++);
    }

    std::map<SequenceId, std::set<std::int32_t>> pages = readPages();
    std::int64_t free = cache.freePages();
    Expected<std::int64_t> needed = cache.countNewPages(ids, counts);
    Expected<CacheStep> step = cache.append(ids, counts);
    if (isRefused) {
      expectRefused(errorOf(needed));
      return expectRefused(errorOf(step));
    }
    if (*needed > free) {
      ++events.exhaustions;
      return expectRefused(errorOf(step));
    }
    ASSERT_EQ(errorOf(step), "");
    EXPECT_EQ(cache.freePages(), free - *needed);
    ASSERT_EQ(std::size_t(step->lengths().size(0)), ids.size());

    std::set<std::int32_t> written;
    for (std::size_t row = 0; row < ids.size(); ++row) {
      Model &model = sequences[ids[row]];
      ASSERT_EQ(std::size_t(at(step->lengths(), row)), model.tokens.size());
      ASSERT_EQ(at(step->counts(), row), counts[row]);
      ASSERT_EQ(at(step->newLengths(), row),
                at(step->lengths(), row) + counts[row]);
      if (counts[row] > 0)
        model.appending = true;
      else
        ++model.readers;
      checkWritten(*step, row, ids[row], pages, written);
    }
    if (pick(0, 1))
      write(*step, newTokens);
    steps.push_back({*std::move(step), ids, newTokens});
  }

  /// Pages of the sequences that can be read.
  std::map<SequenceId, std::set<std::int32_t>> readPages() {
    std::map<SequenceId, std::set<std::int32_t>> pages;
    for (const auto &[id, model] : sequences) {
      if (model.appending)
        continue;
      CacheStep step = *cache.append({id}, {0});
      for (std::int64_t i = 0; i < step.table().size(1); ++i)
        EXPECT_TRUE(pages[id].insert(at(step.table(), 0, i)).second);
    }
    for (const Step &step : steps)
      for (std::size_t row = 0; row < step.ids.size(); ++row)
        for (std::int64_t i = 0; i < step.step.table().size(1); ++i)
          pages[step.ids[row]].insert(at(step.step.table(), row, i));
    return pages;
  }

  /// No page with new rows is another sequence's, and none comes twice; the
  /// table ends after the last.
  void checkWritten(const CacheStep &step, std::size_t row, SequenceId id,
                    const std::map<SequenceId, std::set<std::int32_t>> &pages,
                    std::set<std::int32_t> &written) {
    std::int64_t pageSize = cache.options().pageSize;
    std::int64_t length = at(step.lengths(), row);
    std::int64_t end = at(step.newLengths(), row);
    for (std::int64_t i = 0; i < step.table().size(1); ++i) {
      std::int32_t page = at(step.table(), row, i);
      if (i * pageSize >= end) {
        EXPECT_EQ(page, -1);
        continue;
      }
      ASSERT_TRUE(page >= 0 && page < cache.options().pages);
      if ((i + 1) * pageSize <= length || length == end)
        continue;
      EXPECT_TRUE(written.insert(page).second);
      for (const auto &[other, others] : pages)
        EXPECT_TRUE(other == id || !others.count(page));
      auto own = pages.find(id);
      events.copies += i * pageSize < length && !own->second.count(page);
    }
  }

  void write(const CacheStep &step, const std::vector<Tokens> &newTokens) {
    for (std::size_t row = 0; row < newTokens.size(); ++row)
      writeNew(cache, step, row, newTokens[row]);
  }

  void endStep() {
    auto chosen = steps.begin() + std::ptrdiff_t(random() % steps.size());
    bool commits = pick(0, 3) > 0;
    if (commits || pick(0, 1)) // Kernels may fail after they wrote.
      write(chosen->step, chosen->newTokens);
    for (std::size_t row = 0; row < chosen->ids.size(); ++row) {
      Model &model = sequences[chosen->ids[row]];
      const Tokens &tokens = chosen->newTokens[row];
      if (tokens.empty())
        --model.readers;
      else
        model.appending = false;
      if (commits)
        model.tokens.insert(model.tokens.end(), tokens.begin(), tokens.end());
    }
    if (commits)
      chosen->step.commit();
    ++(commits ? events.commits : events.rollbacks);
    steps.erase(chosen);
  }

  /// Every sequence is as in the model, and no page is lost.
  void check() {
    bool appends = false;
    for (const auto &[id, model] : sequences) {
      ASSERT_EQ(*cache.length(id), std::int64_t(model.tokens.size()));
      appends |= model.appending;
      if (!model.appending)
        ASSERT_TRUE(holds(cache, id, model.tokens)) << std::int64_t(id);
    }
    for (const Step &step : steps)
      for (std::size_t row = 0; row < step.ids.size(); ++row)
        ASSERT_TRUE(
            startsWith(cache, step.step, row, sequences[step.ids[row]].tokens));
    if (appends)
      return; // Pages that were copied are in no table until then.
    std::set<std::int32_t> used;
    for (const auto &[id, pages] : readPages())
      used.insert(pages.begin(), pages.end());
    used.erase(-1);
    ASSERT_EQ(cache.options().pages - cache.freePages(),
              std::int64_t(used.size()));
  }

  std::mt19937 random;
  Events &events;
  PagedCache cache;
  std::map<SequenceId, Model> sequences;
  std::vector<Step> steps;
  Token nextToken = 0;
};

TEST(PagedCacheRandom, EqualsTheModel) {
  const int runs = numCases(800);
  Events events;
  forSeeds(1, runs, [&](std::uint64_t seed) {
    RandomRun(std::uint32_t(seed), events).run(150);
  });
  if (HasFailure() || getOnlySeed())
    return;
  for (unsigned count : {events.commits, events.rollbacks, events.exhaustions,
                         events.copies, events.refusals})
    EXPECT_GE(count, unsigned(runs));
}

} // namespace

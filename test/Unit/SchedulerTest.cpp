//===- SchedulerTest.cpp - Which sequences a step reads -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheduler of examples/smollm2 with a stand-in for the model, whose next
// token is a function of the two before.
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Scheduler.h"
#include "examples/smollm2/Prompts.h"
#include "examples/smollm2/Texts.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <functional>

using namespace smollm2;
using attn::Expected;
using attn::PagedCache;
using attn::SequenceId;

using Tokens = std::vector<std::int32_t>;
using Rule = std::function<std::int32_t(std::int32_t, std::int32_t)>;

static constexpr std::int32_t vocabulary = 40;

namespace {

class SchedulerTest : public testing::Test {
protected:
  void SetUp() override {
    Expected<PagedCache> created =
        PagedCache::create({.pages = numPages, .headSize = 1});
    ASSERT_TRUE(created);
    cache.emplace(*created);
  }

  /// Runs all texts.
  std::vector<Tokens> run(const SchedulerOptions &options,
                          const std::vector<Tokens> &prompts,
                          std::int64_t tokens, const Rule &rule) {
    Scheduler scheduler(*cache, options);
    for (const Tokens &prompt : prompts)
      EXPECT_TRUE(scheduler.add({prompt, tokens, Sampler(0, 0)}));
    std::vector<Tokens> written(prompts.size());
    steps.clear();
    while (true) {
      Expected<std::span<const Chunk>> chunks = scheduler.plan();
      EXPECT_TRUE(chunks) << chunks.error().message;
      if (!chunks || chunks->empty())
        break;
      std::vector<float> logits;
      std::int64_t read = 0;
      for (const Chunk &chunk : *chunks) {
        readChunk(chunk, rule, logits);
        read += std::int64_t(chunk.tokens.size());
      }
      EXPECT_LE(read, options.stepTokens);
      EXPECT_LE(std::int64_t(chunks->size()), options.sequences);
      steps.push_back(read);
      auto progress = scheduler.advance(logits, vocabulary);
      EXPECT_TRUE(progress) << progress.error().message;
      for (const Progress &step : *progress)
        written[step.text].insert(written[step.text].end(), step.tokens.begin(),
                                  step.tokens.end());
    }
    EXPECT_EQ(cache->freePages(), numPages);
    statistics.clear();
    for (std::size_t i = 0; i < prompts.size(); ++i)
      statistics.push_back(scheduler.statistics(i));
    return written;
  }

  /// Stores the tokens as keys, and gives the rows of what is stored then.
  void readChunk(const Chunk &chunk, const Rule &rule,
                 std::vector<float> &logits) {
    auto before = *cache->length(chunk.sequence),
         count = std::int64_t(chunk.tokens.size());
    auto step = cache->append({chunk.sequence}, {count});
    ASSERT_TRUE(step) << step.error().message;
    auto *pages = static_cast<const std::int32_t *>(step->table().data());
    auto *keys = static_cast<float *>(cache->keys().data());
    auto keyOf = [&](std::int64_t position) -> float & {
      return keys[pages[position / Model::pageSize] * Model::pageSize +
                  position % Model::pageSize];
    };
    for (std::int64_t i = 0; i < count; ++i)
      keyOf(before + i) = float(chunk.tokens[std::size_t(i)]);
    for (std::int64_t i = before + count - chunk.numLogits; i < before + count;
         ++i) {
      std::int32_t last = std::int32_t(keyOf(i)),
                   previous = i > 0 ? std::int32_t(keyOf(i - 1)) : 0;
      std::vector<float> row(vocabulary);
      row[std::size_t(rule(previous, last))] = 1;
      logits.insert(logits.end(), row.begin(), row.end());
    }
    step->commit();
  }

  static constexpr std::int64_t numPages = 64;
  std::optional<PagedCache> cache;
  std::vector<std::int64_t> steps; ///< Tokens that each read.
  std::vector<TextStatistics> statistics;
};

std::int32_t mix(std::int32_t before, std::int32_t last) {
  return (before * 3 + last * 7 + 5) % vocabulary;
}

Tokens expectedAfter(Tokens prompt, std::int64_t count, const Rule &rule) {
  std::size_t length = prompt.size();
  for (; count > 0; --count) {
    std::size_t size = prompt.size();
    prompt.push_back(rule(size > 1 ? prompt[size - 2] : 0, prompt[size - 1]));
  }
  return {prompt.begin() + std::ptrdiff_t(length), prompt.end()};
}

} // namespace

/// Whatever runs together, and in whatever steps, each text goes on as alone.
TEST_F(SchedulerTest, TextsDoNotDependOnEachOther) {
  std::vector<Tokens> prompts, expected;
  for (std::int32_t i = 0; i < 9; ++i) {
    Tokens prompt;
    for (std::int32_t j = 0; j <= i * 5 % 23; ++j)
      prompt.push_back((i * 11 + j * j) % vocabulary);
    expected.push_back(expectedAfter(prompt, 12, mix));
    prompts.push_back(std::move(prompt));
  }
  for (SchedulerOptions options :
       {SchedulerOptions{}, SchedulerOptions{.sequences = 1, .stepTokens = 1},
        SchedulerOptions{.sequences = 3, .stepTokens = 4},
        SchedulerOptions{.sequences = 9, .stepTokens = 20, .draftTokens = 4}})
    EXPECT_EQ(run(options, prompts, 12, mix), expected)
        << options.sequences << ", " << options.stepTokens;
}

/// A long prompt does not hold up those that write.
TEST_F(SchedulerTest, ReadsPromptsInChunks) {
  Tokens longPrompt(50, 1);
  run({.sequences = 2, .stepTokens = 10}, {{1, 2}, longPrompt}, 8, mix);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{10, 10, 10, 10, 10, 7, 2, 2, 1, 1,
                                              1, 1, 1}));
}

/// A text that ends makes room for the next one.
TEST_F(SchedulerTest, TextsEndAndBegin) {
  auto next = [](std::int32_t, std::int32_t last) { return last + 1; };
  EXPECT_EQ(run({.sequences = 2, .endToken = 9}, {{6}, {2}, {8}, {7}}, 4, next),
            (std::vector<Tokens>{{7, 8}, {3, 4, 5, 6}, {}, {8}}));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{2, 2, 2, 2, 1, 1}));
}

TEST_F(SchedulerTest, GuessesWhatCameBefore) {
  auto circle = [](std::int32_t, std::int32_t last) { return (last + 1) % 5; };
  Tokens expected = expectedAfter({0}, 20, circle);
  EXPECT_EQ(run({}, {{0}}, 20, circle)[0], expected);
  EXPECT_EQ(steps.size(), 20u);
  EXPECT_EQ(run({.draftTokens = 4}, {{0}}, 20, circle)[0], expected);
  EXPECT_LT(steps.size(), 12u);
  EXPECT_EQ(statistics[0].drafted, statistics[0].accepted);
  // A prompt that repeats itself, but does not go on so.
  Tokens prompt = {1, 2, 3, 1, 2, 3, 1, 2};
  auto other = [](std::int32_t, std::int32_t) { return 30; };
  EXPECT_EQ(run({.draftTokens = 2}, {prompt}, 2, other)[0], (Tokens{30, 30}));
  EXPECT_EQ(statistics[0].drafted, 1);
  EXPECT_EQ(statistics[0].accepted, 0);
}

TEST(Draft, FollowsTheLastPlaceAlike) {
  auto guess = [](const Tokens &tokens, std::int64_t count) {
    return draft(tokens, count);
  };
  EXPECT_EQ(guess({1, 2, 3, 4, 1, 2, 3}, 2), (Tokens{4, 1}));
  EXPECT_EQ(guess({1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3}, 9),
            (Tokens{4, 9, 2, 3, 5, 1, 2, 3}));
  EXPECT_EQ(guess({9, 2, 3, 5, 8, 2, 3, 6, 1, 2, 3}, 1), (Tokens{6}));
  EXPECT_EQ(guess({7, 7, 7}, 3), (Tokens{7}));
  EXPECT_EQ(guess({1, 2, 3}, 3), Tokens());
  EXPECT_EQ(guess({3, 1, 3}, 3), Tokens()); // One token says too little.
  EXPECT_EQ(guess({1, 2, 1, 2}, 0), Tokens());
  EXPECT_EQ(guess({}, 3), Tokens());
}

/// Texts that begin alike read that once; those that come with it wait for it.
TEST_F(SchedulerTest, SharesPrefixes) {
  Tokens prefix;
  for (std::int32_t i = 0; i < 37; ++i)
    prefix.push_back(i * i % vocabulary);
  std::vector<Tokens> prompts, expected;
  for (std::int32_t i = 0; i < 4; ++i) {
    Tokens &prompt = prompts.emplace_back(prefix);
    prompt.insert(prompt.end(), {i, 39});
    expected.push_back(expectedAfter(prompt, 5, mix));
  }
  prompts.push_back({prefix.begin(), prefix.begin() + 15}); // Too short.
  expected.push_back(expectedAfter(prompts.back(), 5, mix));
  prompts.push_back(prompts[2]); // All but the last token.
  expected.push_back(expected[2]);
  for (std::int64_t stepTokens : {8, 512}) {
    EXPECT_EQ(run({.stepTokens = stepTokens}, prompts, 5, mix), expected);
    std::vector<std::int64_t> shared;
    for (const TextStatistics &text : statistics)
      shared.push_back(text.shared);
    EXPECT_EQ(shared, (std::vector<std::int64_t>{0, 37, 37, 37, 0, 38}));
  }
}

TEST_F(SchedulerTest, Errors) {
  Scheduler scheduler(*cache, {});
  EXPECT_EQ(scheduler.add({{}, 1, Sampler(0, 0)}).error().message,
            "expected a prompt of at least 1 token, got none");
  EXPECT_EQ(scheduler.add({{1}, 0, Sampler(0, 0)}).error().message,
            "expected at least 1 token to write, got 0");
}

TEST(Prompts, AreLines) {
  std::string path =
      std::filesystem::temp_directory_path() / "attn-prompts-test.txt";
  auto read = [&](const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
    return readPrompts(path);
  };
  EXPECT_EQ(*read("a b\nc\\n\\td\\\\n\n"),
            (std::vector<std::string>{"a b", "c\n\td\\n"}));
  EXPECT_EQ(*read("a"), (std::vector<std::string>{"a"}));
  auto message = [&](const std::string &text) {
    Expected<std::vector<std::string>> prompts = read(text);
    return prompts ? "no error" : prompts.error().message;
  };
  EXPECT_EQ(message(""), path + ": expected a prompt, got an empty file");
  EXPECT_EQ(message("a\n\nb\n"),
            path + ":2: expected a prompt, got an empty line");
  EXPECT_EQ(message("a\\x\n"),
            path + ":1: expected 'n', 't' or '\\' after a backslash, got 'x'");
  EXPECT_EQ(message("a\\"),
            path + ":1: expected 'n', 't' or '\\' after a backslash, got ''");
  std::filesystem::remove(path);
  EXPECT_EQ(readPrompts(path).error().message,
            path + ": cannot open: No such file or directory");
  EXPECT_EQ(readPrompts("/").error().message, "/: not a regular file");
}

TEST(Texts, AreWithinTheModel) {
  ModelShape shape{.context = 100};
  std::vector<Text> texts = {{"one", "", Tokens(30)}, {"two", "", Tokens(50)}};
  Expected<CacheRoom> room = findRoom(texts, {.tokens = 50}, shape);
  ASSERT_TRUE(room) << room.error().message;
  EXPECT_EQ(room->sequences, 2);
  EXPECT_EQ(room->tokens, 100);
  EXPECT_EQ(findRoom(texts, {.batch = 1, .tokens = 1}, shape)->sequences, 1);
  EXPECT_EQ(findRoom(texts, {.tokens = 51}, shape).error().message,
            "two and --tokens: expected at most 100 tokens, for which the "
            "model was made, got 50 and 51");
}

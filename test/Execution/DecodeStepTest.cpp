//===- DecodeStepTest.cpp - Continuous batching with a paged cache --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// examples/decode on attn::PagedCache: sequences of different lengths are
// decoded together, fork, shrink and go, and every output is held to the
// float64 oracle on the rows that each sequence was given.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "attn/multi_head_attention.h"
#include "attn/paged_cache.h"
#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Compare.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

using namespace attn;

namespace {

constexpr std::int64_t queryHeads = 8, heads = 2, headSize = 64;

using Rows = std::vector<float>; ///< (tokens, heads, headSize)

struct Sequence {
  Rows keys, values;
  std::int64_t length() const {
    return std::int64_t(keys.size()) / (heads * headSize);
  }
};

class DecodeStep : public testing::Test {
protected:
  void SetUp() override {
    compile("step.mlir");
    Expected<PagedCache> created = PagedCache::create({.pages = 40,
                                                       .pageSize = 16,
                                                       .keyValueHeads = heads,
                                                       .headSize = headSize});
    ASSERT_TRUE(created) << created.error().message;
    cache.emplace(*created);
  }

  void compile(const std::string &file) {
    Expected<Engine> engine = Engine::create();
    ASSERT_TRUE(engine) << engine.error().message;
    std::ifstream stream(ATTN_EXAMPLES_DIR "/decode/" + file);
    std::stringstream text;
    text << stream.rdbuf();
    Expected<Kernel> compiled = engine->compile(text.str());
    ASSERT_TRUE(compiled) << compiled.error().message;
    kernel.emplace(*compiled);
  }

  Rows random(std::int64_t count) {
    Rows rows(static_cast<std::size_t>(count));
    for (float &element : rows)
      element = normal(generator);
    return rows;
  }

  void add() {
    Expected<SequenceId> id = cache->createSequence();
    ASSERT_TRUE(id) << id.error().message;
    sequences[*id] = {};
  }

  void fork(SequenceId from, std::int64_t length) {
    Expected<SequenceId> id = cache->fork(from, length);
    ASSERT_TRUE(id) << id.error().message;
    sequences[*id] = sequences[from];
    shorten(sequences[*id], length);
  }

  static void shorten(Sequence &sequence, std::int64_t length) {
    sequence.keys.resize(static_cast<std::size_t>(length * heads * headSize));
    sequence.values.resize(sequence.keys.size());
  }

  void truncate(SequenceId id, std::int64_t length) {
    ASSERT_TRUE(cache->truncate(id, length));
    shorten(sequences[id], length);
  }

  /// Decodes one token of each of `ids`.
  void decode(const std::vector<SequenceId> &ids) {
    auto batch = std::int64_t(ids.size());
    const std::vector<std::int64_t> one(ids.size(), 1);
    Expected<CacheStep> step = cache->append(ids, one);
    ASSERT_TRUE(step) << step.error().message;
    Rows query = random(batch * queryHeads * headSize);
    Rows key = random(batch * heads * headSize),
         value = random(batch * heads * headSize);
    Rows output(query.size());
    const std::int64_t querySizes[] = {batch, queryHeads, 1, headSize},
                       rowSizes[] = {batch, heads, 1, headSize};
    const TensorView results[] = {TensorView(output.data(), querySizes),
                                  cache->keys(), cache->values()};
    std::vector<Argument> arguments = {TensorView(query.data(), querySizes),
                                       TensorView(key.data(), rowSizes),
                                       TensorView(value.data(), rowSizes),
                                       cache->keys(),
                                       cache->values(),
                                       step->table(),
                                       step->lengths(),
                                       step->newLengths()};
    if (sharedPages)
      arguments.emplace_back(*sharedPages);
    Status status = kernel->run(arguments, results);
    ASSERT_TRUE(status) << status.error().message;
    step->commit();
    for (std::size_t b = 0; b < ids.size(); ++b) {
      Sequence &sequence = sequences[ids[b]];
      auto first = std::ptrdiff_t(b) * heads * headSize,
           last = first + heads * headSize;
      sequence.keys.insert(sequence.keys.end(), key.begin() + first,
                           key.begin() + last);
      sequence.values.insert(sequence.values.end(), value.begin() + first,
                             value.begin() + last);
      auto queryRows = std::ptrdiff_t(b) * queryHeads * headSize;
      check(sequence, query.data() + queryRows, output.data() + queryRows);
    }
  }

  static void check(const Sequence &sequence, const float *query,
                    const float *output) {
    const std::int64_t querySizes[] = {1, queryHeads, 1, headSize},
                       sizes[] = {1, heads, sequence.length(), headSize},
                       strides[] = {0, headSize, heads * headSize, 1};
    reference::AttentionProblem problem;
    problem.query = TensorView(query, querySizes);
    problem.key = TensorView(sequence.keys.data(), sizes, strides);
    problem.value = TensorView(sequence.values.data(), sizes, strides);
    Expected<reference::AttentionResult> expected =
        reference::attention(problem);
    ASSERT_TRUE(expected) << expected.error().message;
    std::vector<double> actual(output, output + queryHeads * headSize);
    Expected<reference::Comparison> comparison = reference::compare(
        actual, expected->output,
        reference::toleranceFor(ElementType::f32, reference::Quantity::output));
    ASSERT_TRUE(comparison) << comparison.error().message;
    EXPECT_TRUE(comparison->passed)
        << "length " << sequence.length() << ": error " << comparison->error;
  }

  std::vector<SequenceId> all() const {
    std::vector<SequenceId> ids;
    for (const auto &[id, sequence] : sequences)
      ids.push_back(id);
    return ids;
  }

  std::mt19937_64 generator{7};
  std::normal_distribution<float> normal;
  std::optional<Kernel> kernel;
  std::optional<PagedCache> cache;
  std::map<SequenceId, Sequence> sequences;
  /// For a kernel that takes it.
  std::optional<std::int64_t> sharedPages;
};

TEST_F(DecodeStep, SequencesOfDifferentLengths) {
  for (int i = 0; i < 3; ++i) {
    add();
    for (int step = 0; step < 20; ++step)
      decode(all());
  }
  std::vector<SequenceId> ids = all();
  EXPECT_EQ(sequences[ids[0]].length(), 60);
  EXPECT_EQ(sequences[ids[2]].length(), 20);
  decode({ids[2], ids[0]}); // Some of them, in another order.
}

TEST_F(DecodeStep, ForksShareAPrefix) {
  add();
  for (int step = 0; step < 40; ++step)
    decode(all());
  SequenceId first = all().front();
  std::int64_t free = cache->freePages();
  fork(first, 40);
  fork(first, 17);
  EXPECT_EQ(cache->freePages(), free);
  for (int step = 0; step < 20; ++step)
    decode(all());
  // Rejected tokens.
  truncate(first, 45);
  for (int step = 0; step < 5; ++step)
    decode(all());
}

TEST_F(DecodeStep, SharedPrefixIsAttendedToOnce) {
  add();
  for (int step = 0; step < 40; ++step)
    decode(all());
  compile("shared_prefix.mlir");
  SequenceId first = all().front();
  for (std::int64_t length : {40, 32, 37, 33})
    fork(first, length);
  // Nothing is shared, a page, both.
  for (std::int64_t pages : {0, 1, 2}) {
    sharedPages = pages;
    for (int step = 0; step < 8; ++step)
      decode(all());
  }
  decode({first}); // A batch of one.
}

TEST_F(DecodeStep, ExhaustionLeavesSequencesIntact) {
  add();
  add();
  auto decodeUntilFull = [&] {
    while (true) {
      Expected<std::int64_t> pages = cache->countNewPages(
          all(), std::vector<std::int64_t>(sequences.size(), 1));
      ASSERT_TRUE(pages);
      if (*pages > cache->freePages())
        return;
      decode(all());
    }
  };
  decodeUntilFull();
  EXPECT_EQ(sequences[all()[0]].length(), 20 * 16);
  EXPECT_FALSE(cache->append(all(), std::vector<std::int64_t>(2, 1)));
  SequenceId second = all()[1];
  ASSERT_TRUE(cache->free(second));
  sequences.erase(second);
  decode(all());
}

/// What a layer gives for a prompt and two more tokens, one sequence on pages
/// of its own.
std::vector<float> runLayer(const Engine &engine, ElementType type) {
  constexpr std::int64_t width = 32, pageSize = 4;
  MultiHeadAttention layer{.attention = {.queryHeads = queryHeads,
                                         .keyValueHeads = heads,
                                         .headSize = headSize,
                                         .mask = causal()},
                           .width = width,
                           .cache =
                               LayerCache{.type = type, .pageSize = pageSize}};
  Expected<Kernel> kernel = engine.compile(*layer.text());
  Expected<PagedCache> cache = PagedCache::create({.pages = 3,
                                                   .pageSize = pageSize,
                                                   .keyValueHeads = heads,
                                                   .headSize = headSize,
                                                   .type = type});
  EXPECT_TRUE(kernel && cache);
  Expected<SequenceId> sequence = cache->createSequence();

  std::mt19937 random(7);
  auto draw = [&](std::int64_t count, float deviation) {
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> result(std::size_t(count), 0);
    std::generate(result.begin(), result.end(), [&] { return normal(random); });
    return result;
  };
  const std::int64_t qkvSizes[] = {width, (queryHeads + 2 * heads) * headSize},
                     outputSizes[] = {queryHeads * headSize, width};
  std::vector<float> qkv = draw(qkvSizes[0] * qkvSizes[1], 0.2f),
                     output = draw(outputSizes[0] * outputSizes[1], 0.05f), all;
  for (std::int64_t count : {6, 1, 1}) {
    Expected<CacheStep> step = cache->append({*sequence}, {count});
    EXPECT_TRUE(step);
    const std::int64_t sizes[] = {1, count, width};
    std::vector<float> input = draw(count * width, 1), result(input.size());
    std::vector<TensorView> updated = {cache->keys(), cache->values()};
    if (type == ElementType::i8)
      updated.insert(updated.end(), {cache->keyScales(), cache->valueScales()});
    std::vector<Argument> arguments = {TensorView(input.data(), sizes),
                                       TensorView(qkv.data(), qkvSizes),
                                       TensorView(output.data(), outputSizes)};
    arguments.insert(arguments.end(), updated.begin(), updated.end());
    arguments.insert(arguments.end(), {step->lengths(), step->table()});
    std::vector<TensorView> results = {TensorView(result.data(), sizes)};
    results.insert(results.end(), updated.begin(), updated.end());
    Status status = kernel->run(arguments, results);
    EXPECT_TRUE(status) << status.error().message;
    step->commit();
    all.insert(all.end(), result.begin(), result.end());

    arguments[arguments.size() - 2] = step->lengths();
    EXPECT_NE(kernel->run(arguments, results)
                  .error()
                  .message.find("'lengths': the view has no data: its step is "
                                "committed"),
              std::string::npos);
  }
  return all;
}

/// Rows are rounded to 1/254 of their largest element.
TEST(LayerOnPages, OfI8) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  std::vector<float> exact = runLayer(*engine, ElementType::f32),
                     rounded = runLayer(*engine, ElementType::i8);
  float largest = 0, error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(exact[i]));
    error = std::max(error, std::abs(exact[i] - rounded[i]));
  }
  EXPECT_LE(error, 2e-2f * largest);
  EXPECT_GT(error, 0);
}

} // namespace

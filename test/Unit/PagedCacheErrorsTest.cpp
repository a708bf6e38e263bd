//===- PagedCacheErrorsTest.cpp - What a paged cache refuses --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/PagedCacheTesting.h"

#include <string>

using namespace attn;
using namespace attn::test;

namespace {

class PagedCacheErrors : public PagedCacheTest {};

TEST_F(PagedCacheErrors, Options) {
  auto errorFor = [](auto change) {
    PagedCacheOptions options = makeOptions(10);
    change(options);
    return errorOf(PagedCache::create(options));
  };
  EXPECT_EQ(errorOf(PagedCache::create({})),
            "pages: expected at least 1, got 0");
  EXPECT_EQ(errorFor([](auto &o) { o.pageSize = 0; }),
            "pageSize: expected at least 1, got 0");
  EXPECT_EQ(errorFor([](auto &o) { o.layers = -1; }),
            "layers: expected at least 1, got -1");
  EXPECT_EQ(errorFor([](auto &o) { o.keyValueHeads = -huge; }),
            "keyValueHeads: expected at least 1, got -9223372036854775807");
  EXPECT_EQ(errorFor([](auto &o) { o.headSize = 0; }),
            "headSize: expected at least 1, got 0");
  EXPECT_EQ(errorFor([](auto &o) { o.valueHeadSize = 0; }),
            "valueHeadSize: expected at least 1, got 0");
  EXPECT_EQ(errorFor([](auto &o) { o.pages = std::int64_t(1) << 31; }),
            "pages: expected at most 2147483647, got 2147483648");
  EXPECT_EQ(errorFor([](auto &o) { o.pageSize = huge; }),
            "pageSize: expected at most 2147483647, got 9223372036854775807");
  EXPECT_EQ(errorFor([](auto &o) { o.type = ElementType::f64; }),
            "type: expected f32, f16, bf16, f8E4M3FN, f8E5M2 or i8, got f64");
  EXPECT_EQ(errorFor([](auto &o) { o.type = ElementType(99); }),
            "type: expected f32, f16, bf16, f8E4M3FN, f8E5M2 or i8, got ?");
  // More bytes than 64 bits count, of one part and of all; and than there are.
  std::string noMemory = "pages: expected as many as there is memory for, got ";
  for (std::int64_t size : {huge, huge / 120, std::int64_t(1) << 40}) {
    EXPECT_EQ(errorFor([&](auto &o) { o.headSize = size; }), noMemory + "10");
    EXPECT_EQ(errorFor([&](auto &o) { o.layers = size; }), noMemory + "10");
    EXPECT_EQ(errorFor([&](auto &o) { o.keyValueHeads = size; }),
              noMemory + "10");
  }
  EXPECT_EQ(errorFor([](auto &o) { o.pages = o.pageSize = 2147483647; }),
            noMemory + "2147483647");
}

TEST_F(PagedCacheErrors, SequencesInUse) {
  SequenceId read = create({1}), written = create({1}), idle = create({1});
  CacheStep step = *cache.append({read, written}, {0, 1});
  auto refusal = [](SequenceId sequence, const std::string &expected) {
    return "argument 'sequence': expected one that no step " + expected +
           ", got " + nameOf(sequence);
  };
  auto batchRefusal = [](SequenceId sequence) {
    return "argument 'sequences': expected sequences that no other step uses, "
           "got " +
           nameOf(sequence);
  };
  for (SequenceId sequence : {read, written}) {
    EXPECT_EQ(errorOf(cache.free(sequence)), refusal(sequence, "uses"));
    EXPECT_EQ(errorOf(cache.truncate(sequence, 0)), refusal(sequence, "uses"));
    EXPECT_EQ(errorOf(cache.append({idle, sequence}, {1, 1})),
              batchRefusal(sequence));
  }
  EXPECT_EQ(errorOf(cache.fork(written)), refusal(written, "appends to"));
  EXPECT_EQ(errorOf(cache.append({written}, {0})), batchRefusal(written));

  EXPECT_EQ(errorOf(cache.fork(read)), "");
  { // What both read is in use until both are over.
    CacheStep reader = *cache.append({read}, {0});
    EXPECT_EQ(at(reader.table(), 0, 0), at(step.table(), 0, 0));
    writeNew(cache, step, 1, {2});
    step.commit();
    EXPECT_EQ(errorOf(cache.free(read)), refusal(read, "uses"));
  }
  EXPECT_EQ(errorOf(cache.append({idle, written, read}, {1, 1, 1})), "");
  for (SequenceId sequence : {idle, written, read})
    EXPECT_EQ(errorOf(cache.free(sequence)), "");
}

TEST_F(PagedCacheErrors, NoSuchSequence) {
  SequenceId freed = create({1}), present = create({1});
  EXPECT_EQ(errorOf(cache.free(freed)), "");
  PagedCache other = *PagedCache::create(makeOptions(1));
  for (SequenceId sequence :
       {freed, *other.createSequence(), SequenceId(-1), SequenceId(huge)}) {
    std::string refusal =
        ": expected a sequence of this cache that was not freed, got " +
        nameOf(sequence);
    EXPECT_EQ(errorOf(cache.free(sequence)), "argument 'sequence'" + refusal);
    EXPECT_EQ(errorOf(cache.fork(sequence)), "argument 'sequence'" + refusal);
    EXPECT_EQ(errorOf(cache.truncate(sequence, 0)),
              "argument 'sequence'" + refusal);
    EXPECT_EQ(errorOf(cache.length(sequence)), "argument 'sequence'" + refusal);
    EXPECT_EQ(errorOf(cache.append({present, sequence}, {1, 1})),
              "argument 'sequences'" + refusal);
    EXPECT_EQ(errorOf(cache.countNewPages(Ids{sequence}, Counts{1})),
              "argument 'sequences'" + refusal);
  }
  EXPECT_EQ(usedPages(), 1);
  EXPECT_EQ(errorOf(cache.append({present}, {1})), "");
}

TEST_F(PagedCacheErrors, BadBatches) {
  SequenceId a = create({1}), b = create({2});
  auto expectRefused = [&](const Ids &ids, const Counts &counts,
                           const std::string &message) {
    EXPECT_EQ(errorOf(cache.append(ids, counts)), message);
    EXPECT_EQ(errorOf(cache.countNewPages(ids, counts)), message);
    EXPECT_EQ(usedPages(), 2);
  };
  expectRefused({a, b}, {1},
                "argument 'counts': expected 2 numbers, one for each sequence, "
                "got 1");
  expectRefused({}, {1},
                "argument 'counts': expected 0 numbers, one for each sequence, "
                "got 1");
  expectRefused({a, b, a}, {1, 1, 1},
                "argument 'sequences': expected each sequence once, got " +
                    nameOf(a) + " again");
  expectRefused({b, b}, {0, 0},
                "argument 'sequences': expected each sequence once, got " +
                    nameOf(b) + " again");
  expectRefused({a, b}, {1, -1},
                "argument 'counts': expected at least 0 for sequence " +
                    nameOf(b) + ", got -1");
  for (std::int64_t count : {std::int64_t(2147483647), huge})
    expectRefused(
        {a, b}, {1, count},
        "argument 'counts': expected at most 2147483646 for sequence " +
            nameOf(b) + " of length 1, got " + std::to_string(count));
}

TEST_F(PagedCacheErrors, Exhaustion) {
  SequenceId a = create({1, 2, 3}), b = *cache.fork(a), c = create({7});
  auto countNew = [&](const Ids &ids, const Counts &counts) {
    return *cache.countNewPages(ids, counts);
  };
  EXPECT_EQ(countNew({}, {}), 0);
  EXPECT_EQ(countNew({a, b, c}, {0, 0, 0}), 0);
  EXPECT_EQ(countNew({a}, {1}), 1);
  EXPECT_EQ(countNew({c}, {3}), 0);
  EXPECT_EQ(countNew({c}, {4}), 1);
  EXPECT_EQ(countNew({a, b, c}, {2, 1, 29}), 2 + 1 + 7);
  EXPECT_EQ(cache.freePages(), 8);
  EXPECT_EQ(errorOf(cache.append({a, b, c}, {2, 1, 29})),
            "argument \'counts\': the new tokens need 10 new pages, and the "
            "cache has 8 free");
  EXPECT_EQ(
      errorOf(cache.append({c}, {2147483646})),
      "argument \'counts\': the new tokens need 536870911 new pages, and the "
      "cache has 8 free");
  EXPECT_EQ(usedPages(), 2);
  EXPECT_TRUE(holds(cache, a, {1, 2, 3}));
  EXPECT_TRUE(holds(cache, b, {1, 2, 3}));
  EXPECT_TRUE(holds(cache, c, {7}));

  // To the last page, and on once there are more.
  Tokens tokens = {7};
  while (tokens.size() < 36)
    tokens.push_back(Token(tokens.size()));
  append(cache, c, Tokens(tokens.begin() + 1, tokens.end()));
  EXPECT_EQ(cache.freePages(), 0);
  EXPECT_EQ(errorOf(cache.append({a}, {1})),
            "argument \'counts\': the new tokens need 1 new pages, and the "
            "cache has 0 free");
  EXPECT_TRUE(holds(cache, c, tokens));
  EXPECT_EQ(errorOf(cache.free(b)), "");
  append(cache, a, {4});
  EXPECT_EQ(errorOf(cache.truncate(c, 32)), "");
  append(cache, a, {5, 6});
  EXPECT_EQ(cache.freePages(), 0);
  EXPECT_TRUE(holds(cache, a, {1, 2, 3, 4, 5, 6}));
  tokens.resize(32);
  EXPECT_TRUE(holds(cache, c, tokens));
}

} // namespace

//===- MaskAnalysisTest.cpp - Which blocks of keys a mask keeps -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An answer may never be wrong, and for the named masks it must be the best.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/MaskAnalysisTesting.h"

using namespace attn::test;

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

TEST_F(MaskAnalysisTest, Causal) { checkEverywhere({"causal"}, Demand::Exact); }

TEST_F(MaskAnalysisTest, SlidingWindow) {
  for (Index left : {-1, 0, 1, 3, 9})
    for (Index right : {-1, 0, 2}) {
      std::string sizes =
          std::to_string(left) + ", " + std::to_string(right) + ")";
      checkEverywhere({"sliding_window(" + sizes}, Demand::Exact);
    }
  checkEverywhere({"sliding_window(2305843009213693952, 2305843009213693952)"},
                  Demand::Exact);
  checkEverywhere({"causal, sliding_window(2, 2)"}, Demand::Exact);
}

TEST_F(MaskAnalysisTest, KeyPadding) {
  Index huge = std::numeric_limits<Index>::max();
  for (std::string type : {"i32", "i64", "index", "i8"}) {
    Mask mask{"key_padding(%n : tensor<?x" + type + ">)",
              {lengths(type, 3, 11)}};
    checkEverywhere(mask, Demand::Exact);
    mask.captures = {lengths(type, 0, -2)};
    checkEverywhere(mask, Demand::Exact);
  }
  for (std::string type : {"i64", "index"})
    checkEverywhere({"key_padding(%n : tensor<?x" + type + ">)",
                     {lengths(type, huge, -huge - 1)}},
                    Demand::Exact);
  // A table that is too short: undefined is neither kept nor masked.
  checkEverywhere({"key_padding(%n : tensor<?xi32>)", {{"n", "i32", {1}, {3}}}},
                  Demand::Exact);
  checkEverywhere({"key_padding(%n : tensor<?xi32>)", {{"n", "i32", {0}, {}}}},
                  Demand::Exact);
}

TEST_F(MaskAnalysisTest, PrefixLM) {
  for (Index length : {-1, 0, 2, 5, 12})
    checkEverywhere(
        {"prefix_lm(%n : tensor<?xi32>)", {lengths("i32", length, 1)}},
        Demand::Exact);
}

TEST_F(MaskAnalysisTest, SeveralNamed) {
  checkEverywhere(
      {"causal, key_padding(%n : tensor<?xi32>)", {lengths("i32", 4, 1)}},
      Demand::Exact);
  checkEverywhere({"sliding_window(2, 1), key_padding(%n : tensor<?xi32>)",
                   {lengths("i32", 4, 1)}},
                  Demand::Exact);
}

TEST_F(MaskAnalysisTest, Tables) {
  Index positions = 4;
  std::vector<Index> kept{1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0};
  checkEverywhere(
      {"key_padding(%n : tensor<?x?xi1>)", {{"n", "i1", {2, 8}, kept}}},
      Demand::Sound);
  checkEverywhere({"boolean(%n : tensor<?x?xi1>)", {{"n", "i1", {4, 4}, kept}}},
                  Demand::Sound);
  checkEverywhere({"document(%m, %n : tensor<?x?xi32>, tensor<?x?xi32>)",
                   {{"m", "i32", {2, positions}, {1, 1, 2, 3, 1, 1, 1, 1}},
                    {"n", "i32", {2, 8}, kept}}},
                  Demand::Sound);
  checkEverywhere(
      {"causal, boolean(%n : tensor<?x?xi1>)", {{"n", "i1", {4, 4}, kept}}},
      Demand::Sound);
}

//===----------------------------------------------------------------------===//
// Tables with ranges of blocks
//===----------------------------------------------------------------------===//

TEST_F(MaskAnalysisTest, BooleanBlocks) {
  // Keys 0 to 2: all; 3 to 5: some; 6 and 7: none.
  std::vector<Index> kept{1, 1, 1, 0, 1, 0, 0, 0};
  load({"key_padding(%n : tensor<?x?xi1>)",
        {{"n", "i1", {1, 8}, kept, {1, 3}}}});
  auto askKeys = [&](Index first, Index last) {
    Rectangle at{0, 0, 0, 1, first, last, kNumKeys};
    Answer answer = ask(at);
    check(at, answer, Demand::Sound);
    return std::pair(answer.isEmpty, answer.isFull);
  };
  EXPECT_EQ(askKeys(0, 2), std::pair(false, true));
  EXPECT_EQ(askKeys(1, 2), std::pair(false, true));
  EXPECT_EQ(askKeys(3, 5), std::pair(false, false));
  EXPECT_EQ(askKeys(3, 3), std::pair(false, false));
  EXPECT_EQ(askKeys(6, 7), std::pair(true, false));
  EXPECT_EQ(askKeys(2, 3), std::pair(false, false)); // Across blocks.
  EXPECT_EQ(askKeys(5, 7), std::pair(false, false)); // Of the middle block.
}

TEST_F(MaskAnalysisTest, DocumentBlocks) {
  // Blocks of two: documents -1, 3, 3 and 5, 3 and 4.
  std::vector<Index> keys{-1, -1, 3, 3, 3, 5, 3, 4};
  std::vector<Index> queries{-1, -1, 3, 3, 3, 3, 3, 3};
  load({"document(%m, %n : tensor<?x?xi32>, tensor<?x?xi32>)",
        {{"m", "i32", {1, 8}, queries, {1, 2}},
         {"n", "i32", {1, 8}, keys, {1, 2}}}});
  auto askAt = [&](Index position, Index key) {
    Rectangle at{0, 0, position, position + 1, key, key + 1, kNumKeys};
    Answer answer = ask(at);
    check(at, answer, Demand::Sound);
    return std::pair(answer.isEmpty, answer.isFull);
  };
  EXPECT_EQ(askAt(0, 0), std::pair(false, true));
  EXPECT_EQ(askAt(0, 2), std::pair(true, false));
  EXPECT_EQ(askAt(0, 4), std::pair(true, false));
  EXPECT_EQ(askAt(2, 0), std::pair(true, false));
  EXPECT_EQ(askAt(4, 2), std::pair(false, true));
  EXPECT_EQ(askAt(4, 4), std::pair(false, false));
  EXPECT_EQ(askAt(-2, 0), std::pair(false, false)); // Undefined.
}

// Differences of sums up to the query and up to the key, and a distance by what
// is loaded for the head.
TEST_F(MaskAnalysisTest, FloatBlocks) {
  std::vector<double> sums = {0, -0.5, -1, -1.5, -5, -5.5, -6, -6.5};
  load({"(%b, %h, %p, %j) captures(%t = %n : tensor<?xf32>) {\n"
        "%a = tensor.extract %t[%p] : tensor<?xf32>\n"
        "%c = tensor.extract %t[%j] : tensor<?xf32>\n"
        "%d = arith.subf %a, %c : f32\n"
        "%least = arith.constant -2.0 : f32\n"
        "%keep = arith.cmpf oge, %d, %least : f32\n"
        "attn.yield %keep : i1\n}",
        {{"n", "f32", {8}, {}, {4}, sums}}});
  auto askAt = [&](Index position, Index key) {
    Rectangle at{0, 1, position, position + 1, key, key + 1, kNumKeys};
    Answer answer = ask(at);
    check(at, answer, Demand::Sound);
    return std::pair(answer.isEmpty, answer.isFull);
  };
  EXPECT_EQ(askAt(0, 0), std::pair(false, true));
  EXPECT_EQ(askAt(0, 4), std::pair(false, true));
  EXPECT_EQ(askAt(4, 0), std::pair(true, false));
  EXPECT_EQ(askAt(4, 4), std::pair(false, true));
  EXPECT_EQ(askAt(3, 3), std::pair(false, false));  // Two blocks.
  EXPECT_EQ(askAt(-2, 0), std::pair(false, false)); // Undefined.

  load({"(%b, %h, %p, %j) captures(%t = %n : tensor<?xf32>) {\n"
        "%a = arith.subi %p, %j : index\n"
        "%c = arith.index_cast %a : index to i32\n"
        "%d = arith.sitofp %c : i32 to f32\n"
        "%w = tensor.extract %t[%h] : tensor<?xf32>\n"
        "%e = arith.divf %d, %w : f32\n"
        "%most = arith.constant 3.0 : f32\n"
        "%keep = arith.cmpf olt, %e, %most : f32\n"
        "attn.yield %keep : i1\n}",
        {{"n", "f32", {2}, {}, {}, {1.0, 0.5}}}});
  EXPECT_EQ(askAt(5, 5), std::pair(false, true));
  EXPECT_EQ(askAt(5, 0), std::pair(true, false));
  EXPECT_EQ(askAt(5, 3), std::pair(false, false));
}

TEST_F(MaskAnalysisTest, LimitsByQuery) {
  // Ranges of what queries load bound the keys: j < n[p] and m[p] <= j.
  std::string text =
      "(%b, %h, %p, %j) captures(%t = %n : tensor<?xi32>, %u = %m : "
      "tensor<?xi32>) {\n"
      "%i = arith.index_cast %j : index to i32\n"
      "%end = tensor.extract %t[%p] : tensor<?xi32>\n"
      "%start = tensor.extract %u[%p] : tensor<?xi32>\n"
      "%below = arith.cmpi slt, %i, %end : i32\n"
      "%from = arith.cmpi sge, %i, %start : i32\n"
      "%keep = arith.andi %below, %from : i1\nattn.yield %keep : i1\n}";
  load({text,
        {{"n", "i32", {8}, {1, 2, 3, 4, 5, 6, 7, 8}, {2}},
         {"m", "i32", {8}, {0, 0, 1, 1, 2, 4, 4, 4}, {2}}}});
  for (Index first : {0, 2, 4, 6}) {
    Rectangle at{0, 0, first, first + 1, 0, 7, kNumKeys};
    check(at, ask(at), Demand::Exact);
  }
}

TEST_F(MaskAnalysisTest, LoadedIndices) {
  // Keys from the start of the query's document on.
  Mask mask{"(%b, %h, %p, %j) captures(%t = %n : tensor<?xi32>, %u = %m : "
            "tensor<?xi32>) {\n"
            "%i = arith.index_cast %j : index to i32\n"
            "%id = tensor.extract %t[%p] : tensor<?xi32>\n"
            "%at = arith.index_cast %id : i32 to index\n"
            "%start = tensor.extract %u[%at] : tensor<?xi32>\n"
            "%keep = arith.cmpi sge, %i, %start : i32\n"
            "attn.yield %keep : i1\n}",
            {{"n", "i32", {8}, {0, 0, 0, 0, 1, 1, 2, 2}, {2}},
             {"m", "i32", {3}, {0, 4, 6}}}};
  checkEverywhere(mask, Demand::Sound);
  for (Index first : {0, 2, 4, 6}) {
    Rectangle at{0, 0, first, first + 1, 0, 7, kNumKeys};
    check(at, ask(at), Demand::Exact);
  }
  // Documents that there are not.
  mask.captures.front().elements = {0, 1, 2, 3, -1, 0, 7, 1};
  checkEverywhere(mask, Demand::Sound);
}

TEST_F(MaskAnalysisTest, TableOfBlocks) {
  // An element serves 8 positions, so that the table itself is looked at.
  load({region("tensor<?x?xi1>",
               "%c8 = arith.constant 8 : index\n"
               "%q = arith.divui %p, %c8 : index\n"
               "%k = arith.divui %j, %c8 : index\n"
               "%keep = tensor.extract %t[%q, %k] : tensor<?x?xi1>"),
        {{"n", "i1", {1, 1}, {0}}}});
  Rectangle at{0, 0, 1, 5, 2, 6, kNumKeys};
  Answer answer = ask(at);
  check(at, answer, Demand::Verdict);
  EXPECT_TRUE(answer.isEmpty);
}

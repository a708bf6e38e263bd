//===- BlocksTest.cpp - The blocks that a kernel computes -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the blocks are is tested by test/BlockMap/print-blocks.mlir. Sizes
// here are so small that they do not depend on the machine.
//
//===----------------------------------------------------------------------===//

#include "attn/blocks.h"

#include "gtest/gtest.h"

#include <regex>

using namespace attn;

static std::string textOf(const std::string &clauses) {
  return R"(
func.func @attend(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>,
                  %o: tensor<1x2x?x8xf32>, %n: i64) -> tensor<1x2x?x8xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<1x2x?x8xf32>,
                          tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
      outs(%o : tensor<1x2x?x8xf32>) )" +
         clauses + R"(
  return %r : tensor<1x2x?x8xf32>
}
)";
}

static std::string errorOf(std::string_view text, const BlockOptions &options) {
  Expected<std::string> shown = showBlocks(text, options);
  EXPECT_FALSE(shown.ok());
  return shown ? "" : shown.error().message;
}

TEST(Blocks, Text) {
  Expected<std::string> shown =
      showBlocks(textOf("offset(%n : i64) mask causal"),
                 {.queryLength = 4, .keyLength = 200, .offset = 100});
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_NE(shown->find("attend: 4 queries, 200 keys\n"), std::string::npos);
  // How large blocks are depends on the processor.
  std::smatch match;
  ASSERT_TRUE(std::regex_search(*shown, match, std::regex(" and (\\d+) keys:")))
      << *shown;
  int block = std::stoi(match[1]), blocks = (200 + block - 1) / block;
  int full = 101 / block, seen = (104 + block - 1) / block;
  std::string expected = "every batch entry and head:\n  100 ";
  for (int i = 0; i < blocks; ++i)
    expected += i < full ? '#' : i < seen ? '+' : '.';
  expected += "\n  " + std::to_string(full) + " full, " +
              std::to_string(seen - full) +
              " partial: " + std::to_string(seen) + " of " +
              std::to_string(blocks) + " blocks computed (";
  EXPECT_NE(shown->find(expected), std::string::npos) << *shown;
}

TEST(Blocks, Picture) {
  Expected<std::string> shown =
      showBlocks(textOf("mask causal"), {.queryLength = 4,
                                         .keyLength = 200,
                                         .format = BlockOptions::Format::svg});
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ(shown->find("<svg xmlns="), 0U);
  EXPECT_NE(shown->find("d=\"M0 0h4v4h-4z\""), std::string::npos) << *shown;
}

TEST(Blocks, Errors) {
  std::string text = textOf("mask causal");
  EXPECT_EQ(errorOf(text, {.keyLength = 4}),
            "cannot show blocks: <string>:4:8: query length is not known while "
            "compiling: say with "
            "query-length for which to show the blocks");
  EXPECT_NE(errorOf(text, {.queryLength = 4, .keyLength = -1})
                .find("key-length: expected 0 to 2^60, got -1"),
            std::string::npos);
  EXPECT_NE(errorOf(text, {.queryLength = 4, .keyLength = 4, .offset = 1})
                .find("offset: expected an attn.attention that leaves it open"),
            std::string::npos);
  EXPECT_NE(errorOf("nonsense", {}).find("<string>:1:1"), std::string::npos);
  EXPECT_NE(errorOf(text, {.entry = "other"}).find("no function 'other'"),
            std::string::npos);
  EXPECT_NE(errorOf(text, {.cpu = "pocket-calculator"}).find("cpu: expected"),
            std::string::npos);
}

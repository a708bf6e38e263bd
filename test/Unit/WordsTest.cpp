//===- WordsTest.cpp - Text in pieces that tokens do not cross ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Words.h"

#include "gtest/gtest.h"

#include <numeric>
#include <string>

using namespace bpe;
using namespace std::string_literals;
using attn::Expected;

/// What the Python package tokenizers 0.23.3 makes of the joined pieces, with
/// Sequence([Digits(individual_digits=True), ByteLevel(use_regex=True)]).
TEST(Words, AsThePublishedSplitter) {
  const std::vector<std::string> expected[] = {
      {},
      {"Hello", " world"},
      {"a", " ", "1", "2", " b"},
      {"x", "  ", "1"},
      {"1", " ", " x"},
      {"it", "'s", " we", "'", "LL", " they", "'ve", " I", "'m", " he", "'d",
       " '", "tis"},
      {"don", "'t", "'ll", " '", "s"},
      {" ", " word", "\n\n", " x"},
      {"tail", "  "},
      {"\n"},
      {" \n "},
      {"a", "\302\240", "\302\240", "b"},
      {"a", "\302\205", "b"},
      {"\302\275", " ", "\302\262", " ", "\342\205\247", " ", "\331\243"},
      {"a", "\342\200\213", "b", "\341\232\200", "c", "\342\200\203",
       "\342\200\203", "d", "\342\200\257", "e", "\343\200\200", "f"},
      {"e", "\314\201", " x"},
      {"\346\227\245\346\234\254\350\252\236",
       " \343\203\206\343\202\271\343\203\210"},
      {"\034\035", " a", "\013", "\014", "b"},
      {"\341\240\216", "a", "\357\273\277", "b"},
      {"foo", "(", "bar", ",", " baz", ");", " ", " //", " ", "3", ".", "1",
       "4", "!"},
      {" ", " ->", " <=", " \t", "\t", "x"},
      {"\360\237\231\202\360\237\231\202", " ok", "\360\237\231\202"},
      {"\307\205", " \312\260", " \302\252", " x", "_", "y"},
      {"\360\237\217\275", " ", "1", "\357\270\217\342\203\243"},
  };
  for (const std::vector<std::string> &pieces : expected) {
    std::string text = std::accumulate(pieces.begin(), pieces.end(), ""s);
    Expected<std::vector<std::string_view>> got = splitWords(text);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(std::vector<std::string>(got->begin(), got->end()), pieces);
  }
}

TEST(Words, LongTexts) {
  std::string text(100000, 'x');
  EXPECT_EQ(splitWords(text)->size(), 1u);
  text.assign(100000, '7');
  EXPECT_EQ(splitWords(text)->size(), 100000u);
}

TEST(Words, OnlyUTF8) {
  auto message = [](const std::string &text) {
    Expected<std::vector<std::string_view>> pieces = splitWords(text);
    return pieces ? "no error" : pieces.error().message;
  };
  EXPECT_EQ(message("ab\xff"), "expected UTF-8, got byte 255 at 2");
  EXPECT_EQ(message("\xc3"), "expected UTF-8, got byte 195 at 0");
  EXPECT_EQ(message("\xc0\x80"), "expected UTF-8, got byte 192 at 0");
  EXPECT_EQ(message("a\xed\xa0\x80"), "expected UTF-8, got byte 237 at 1");
  EXPECT_EQ(message("a\0b"s), "no error");
}

//===- TokenizerTest.cpp - Text to tokens and back ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Tokenizer.h"
#include "test/Unit/GgufTesting.h"

#include "gtest/gtest.h"

#include <cstdio>

using attn::Expected;
using bpe::Tokenizer;

/// A character of GPT-2's alphabet for each byte, in UTF-8.
static std::string letterOf(int byte) {
  bool isPrintable = (byte >= '!' && byte <= '~') ||
                     (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  int next = 0x100;
  for (int other = 0; other < byte; ++other)
    next += !((other >= '!' && other <= '~') ||
              (other >= 0xa1 && other <= 0xac) || other >= 0xae);
  int code = isPrintable ? byte : next;
  if (code < 0x80)
    return {char(code)};
  return {char(0xc0 | code >> 6), char(0x80 | (code & 0x3f))};
}

namespace {
/// Two control tokens, all bytes but 0x16, and ten merges.
struct Vocabulary {
  std::string model = "gpt2", pre = "smollm";
  std::vector<std::string> tokens = {"<end>", "<start>"};
  std::vector<std::int32_t> types = {3, 3};
  std::vector<std::string> merges = {
      "a b",   "b c",           "ab c",      "\u0120 a", "a a",
      "aa aa", "\u00c3 \u00a9", "\u0120a b", "n n",      "nn n"};
  std::uint32_t end = 0;

  Vocabulary() {
    for (int byte = 0; byte < 256; ++byte)
      if (byte != 0x16)
        tokens.push_back(letterOf(byte));
    for (const char *token : {"ab", "bc", "abc", "\u0120a", "aa", "aaaa",
                              "\u00c3\u00a9", "\u0120ab", "nn", "nnn"})
      tokens.push_back(token);
    types.resize(tokens.size(), 1);
  }

  std::string file() const {
    GgufWriter writer;
    writer.addText("tokenizer.ggml.model", model);
    writer.addText("tokenizer.ggml.pre", pre);
    writer.addTexts("tokenizer.ggml.tokens", tokens);
    writer.addIntegers("tokenizer.ggml.token_type", types);
    writer.addTexts("tokenizer.ggml.merges", merges);
    writer.addInteger("tokenizer.ggml.eos_token_id", end);
    return writer.file();
  }

  Expected<Tokenizer> create() const {
    return Tokenizer::create(*parseGguf(file()));
  }
  std::string failure() const {
    Expected<Tokenizer> tokenizer = create();
    return tokenizer ? "no error" : tokenizer.error().message;
  }
};
} // namespace

/// What the Python package tokenizers 0.23.3 makes of them.
TEST(Tokenizer, AsThePublishedTokenizer) {
  Expected<Tokenizer> tokenizer = Vocabulary().create();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const std::pair<std::string, std::vector<std::int32_t>> expected[] = {
      {"abc", {259}},
      {"abcabc bc", {259, 259, 33, 258}},
      {" abc ab", {33, 259, 33, 257}},
      {"aaaaaaaaa", {262, 262, 98}},
      {"aaaaa", {262, 98}},
      {"\303\251\303\240\303\251", {263, 196, 161, 263}},
      {"nnnnn nnnn", {265, 266, 33, 265, 265}},
      {"<start>ab<end>c<start", {1, 257, 0, 100, 61, 116, 117, 98, 115, 117}},
      {"<<start>>", {61, 1, 63}},
  };
  for (auto &[text, tokens] : expected) {
    Expected<std::vector<std::int32_t>> got = tokenizer->encode(text);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, tokens) << text;
    std::string decoded;
    for (std::int32_t token : *got)
      decoded += tokenizer->decode(token);
    EXPECT_EQ(decoded, text);
  }
  EXPECT_EQ(tokenizer->endToken(), 0);
  EXPECT_EQ(tokenizer->decode(-1), "");
  EXPECT_EQ(tokenizer->decode(std::int32_t(tokenizer->size())), "");
}

TEST(Tokenizer, LongTextsTakeNoLonger) {
  Expected<Tokenizer> tokenizer = Vocabulary().create();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::string text(100000, 'a');
  EXPECT_EQ(tokenizer->encode(text)->size(), 25000u);
}

TEST(Tokenizer, Texts) {
  Expected<Tokenizer> tokenizer = Vocabulary().create();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto message = [&](std::string_view text) {
    Expected<std::vector<std::int32_t>> tokens = tokenizer->encode(text);
    return tokens ? "no error" : tokens.error().message;
  };
  EXPECT_EQ(message("a\x16"), "the vocabulary has no token for byte 22");
  EXPECT_EQ(message("<start>\xff"), "expected UTF-8, got byte 255 at 7");
}

TEST(Tokenizer, Vocabularies) {
  Vocabulary bad;
  bad.model = "bert";
  EXPECT_EQ(bad.failure(), "'tokenizer.ggml.model': expected 'gpt2' or "
                           "'llama', got 'bert'");
  bad = {};
  bad.pre = "qwen2";
  EXPECT_EQ(bad.failure(),
            "'tokenizer.ggml.pre': expected 'smollm', got 'qwen2'");
  bad = {};
  bad.types.pop_back();
  EXPECT_EQ(bad.failure(), "'tokenizer.ggml.token_type': expected 267 entries, "
                           "as there are tokens, got 266");
  for (const char *token : {"a b", "\xff", "\xc4", "\u20ac", "\u0144"}) {
    bad = {};
    bad.tokens[9] = token;
    EXPECT_TRUE(
        bad.failure().ends_with("is not written in GPT-2's alphabet of bytes"))
        << bad.failure();
  }
  for (const char *merge : {"", "a", " ", "a ", " b", "a b c", "b a", "a zz"}) {
    bad = {};
    bad.merges[1] = merge;
    EXPECT_EQ(bad.failure(), "'tokenizer.ggml.merges': entry 1, '" +
                                 std::string(merge) +
                                 "', does not merge two tokens to a third");
  }
  bad = {};
  bad.end = 267;
  EXPECT_EQ(bad.failure(), "'tokenizer.ggml.eos_token_id': expected one of 267 "
                           "tokens, got 267");
}

//===----------------------------------------------------------------------===//
// Llama's
//===----------------------------------------------------------------------===//

namespace {
/// Three control tokens, bytes, and pieces whose scores are their order.
struct Pieces {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  std::vector<float> scores = {0, 0, 0};
  GgufWriter more;

  Pieces() {
    for (int byte = 0; byte < 256; ++byte) {
      char text[8];
      std::snprintf(text, sizeof(text), "<0x%02X>", unsigned(byte));
      add(text, 6, 0);
    }
    float score = 0;
    for (const char *piece :
         {"ab", "bc", "\u2581a", "aa", "\u2581ab", "abc", "\u2581\u2581",
          "\u2581", "a", "b", "c", "\u00e9", "e", "<"})
      add(piece, 1, --score);
    add("<user>", 4, 0);
  }
  void add(const std::string &text, std::int32_t type, float score) {
    tokens.push_back(text);
    types.push_back(type);
    scores.push_back(score);
  }

  Expected<Tokenizer> create() const {
    GgufWriter writer = more;
    writer.addText("tokenizer.ggml.model", "llama");
    writer.addTexts("tokenizer.ggml.tokens", tokens);
    writer.addIntegers("tokenizer.ggml.token_type", types);
    std::string bytes =
        bytesOf<std::uint32_t>(6) + bytesOf<std::uint64_t>(scores.size());
    for (float score : scores)
      bytes += bytesOf(score);
    writer.add("tokenizer.ggml.scores", 9, bytes);
    writer.addInteger("tokenizer.ggml.bos_token_id", 1);
    writer.addInteger("tokenizer.ggml.eos_token_id", 2);
    return Tokenizer::create(*parseGguf(writer.file()));
  }
  std::string failure() const {
    Expected<Tokenizer> tokenizer = create();
    return tokenizer ? "no error" : tokenizer.error().message;
  }

  std::string split(const std::string &text) const {
    Expected<Tokenizer> tokenizer = create();
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    Expected<std::vector<std::int32_t>> encoded = tokenizer->encode(text);
    if (!encoded)
      return encoded.error().message;
    std::string result;
    for (std::int32_t token : *encoded)
      result += (result.empty() ? "" : "|") + tokens[std::size_t(token)];
    return result;
  }
};
} // namespace

TEST(SentencePiece, MergesByScores) {
  Pieces pieces;
  EXPECT_EQ(pieces.split(""), "");
  EXPECT_EQ(pieces.split("a"), "<s>|\u2581a");
  EXPECT_EQ(pieces.split("ab"), "<s>|\u2581"
                                "ab");
  EXPECT_EQ(pieces.split("abc"), "<s>|\u2581"
                                 "ab|c"); // Before "abc".
  EXPECT_EQ(pieces.split("aaa"), "<s>|\u2581a|aa");
  EXPECT_EQ(pieces.split(" a  b"), "<s>|\u2581|\u2581a|\u2581\u2581|b");
  EXPECT_EQ(pieces.split("\u00e9\u00e8"), "<s>|\u2581|\u00e9|<0xC3>|<0xA8>");
  EXPECT_EQ(pieces.split("a</s>a<user>b"),
            "<s>|\u2581a|</s>|\u2581a|<user>|\u2581|b");
  EXPECT_EQ(pieces.split("<unk>"), "<s>|\u2581|<|<0x75>|<0x6E>|<0x6B>|<0x3E>");
  EXPECT_EQ(pieces.split("a\xff"), "expected UTF-8, got byte 255 at 1");
  pieces.more.add("tokenizer.ggml.add_space_prefix", 7, bytesOf('\0'));
  pieces.more.add("tokenizer.ggml.add_bos_token", 7, bytesOf('\0'));
  EXPECT_EQ(pieces.split("ab a"), "ab|\u2581"
                                  "a");
}

TEST(SentencePiece, Decodes) {
  Expected<Tokenizer> tokenizer = Pieces().create();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  Expected<std::vector<std::int32_t>> tokens =
      tokenizer->encode("ab  \u00e8 c");
  ASSERT_TRUE(tokens) << tokens.error().message;
  std::string text;
  for (std::int32_t token : *tokens)
    text += tokenizer->decode(token);
  EXPECT_EQ(text, "<s> ab  \u00e8 c");
  EXPECT_EQ(tokenizer->endToken(), 2);
}

TEST(SentencePiece, Vocabularies) {
  Pieces bad;
  bad.scores.pop_back();
  EXPECT_EQ(bad.failure(), "'tokenizer.ggml.scores': expected 274 entries, as "
                           "there are tokens, got 273");
  for (const char *text : {"<0x4>", "<0x4g>", "a", "<0x041>"}) {
    bad = {};
    bad.tokens[9] = text;
    EXPECT_EQ(bad.failure(), "'tokenizer.ggml.tokens': token 9: expected a "
                             "byte, such as '<0x41>', got '" +
                                 std::string(text) + "'");
  }
  bad = {};
  bad.types[3 + 'x'] = 5;
  EXPECT_EQ(bad.split("x"), "the vocabulary has no token for byte 120");
  bad = {};
  bad.more.addInteger("tokenizer.ggml.add_bos_token", 1);
  EXPECT_EQ(bad.failure(), "'tokenizer.ggml.add_bos_token': expected a "
                           "boolean, got uint32");
}

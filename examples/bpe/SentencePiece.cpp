//===- SentencePiece.cpp - The encoding of Llama --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Encoder.h"
#include "examples/bpe/Merging.h"
#include "examples/gguf/Message.h"

#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utf8proc.h>

using namespace bpe;
using attn::Error;
using attn::Expected;
using attn::Status;
using gguf::quoted;

/// What a space is written as in vocabularies, U+2581.
static constexpr std::string_view blank = "\xe2\x96\x81";

static std::string replaceAll(std::string_view text, std::string_view from,
                              std::string_view to) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    bool isFound = text.substr(i).starts_with(from);
    result += isFound ? to : text.substr(i, 1);
    i += isFound ? from.size() : 1;
  }
  return result;
}

/// The byte that "<0x41>" stands for.
static std::optional<std::uint8_t> byteOf(std::string_view text) {
  std::uint8_t byte = 0;
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return std::nullopt;
  auto [end, code] =
      std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  if (code != std::errc() || end != text.data() + 5)
    return std::nullopt;
  return byte;
}

namespace {
class SentencePieceEncoder : public Encoder {
public:
  Status addTokens(const gguf::File &file, Vocabulary &vocabulary);
  Status encode(std::string_view text, std::size_t numBefore,
                std::vector<std::int32_t> &result) const override;

  bool addsBlank = true; ///< Before every text.

private:
  Status split(std::string_view text, std::size_t numBefore,
               std::vector<std::int32_t> &symbols,
               std::map<std::int32_t, std::string_view> &unknown) const;

  std::vector<std::string> texts; ///< As vocabularies write them.
  std::vector<double> scores;
  std::unordered_map<std::string, std::int32_t> numbers;
  std::vector<std::int32_t> tokenOfByte; ///< -1 where there is none.
};
} // namespace

Status SentencePieceEncoder::addTokens(const gguf::File &file,
                                       Vocabulary &vocabulary) {
  Expected<FileTokens> read = readTokens(file);
  if (!read)
    return read.error();
  Expected<std::vector<double>> given = file.reals("tokenizer.ggml.scores");
  if (!given)
    return given.error();
  scores = std::move(*given);
  if (scores.size() != read->texts.size())
    return Error{"'tokenizer.ggml.scores': expected " +
                     std::to_string(read->texts.size()) +
                     " entries, as there are tokens, got " +
                     std::to_string(scores.size()),
                 {}};
  tokenOfByte.assign(256, -1);
  for (std::size_t i = 0; i < read->texts.size(); ++i) {
    auto token = std::int32_t(i);
    std::string_view text = read->texts[i];
    texts.emplace_back(text);
    std::int64_t type = read->types[i];
    if (type == controlType || type == userType)
      vocabulary.controls.push_back(token);
    if (type == byteType) {
      std::optional<std::uint8_t> byte = byteOf(text);
      if (!byte)
        return Error{"'tokenizer.ggml.tokens': token " + std::to_string(i) +
                         ": expected a byte, such as '<0x41>', got " +
                         quoted(text),
                     {}};
      tokenOfByte[*byte] = token;
      vocabulary.tokens.emplace_back(1, char(*byte));
    } else {
      if (type == normalType)
        numbers.emplace(text, token);
      vocabulary.tokens.push_back(replaceAll(text, blank, " "));
    }
  }
  return {};
}

/// The characters of a text as tokens, and as numbers after those of tokens
/// where they are none.
Status SentencePieceEncoder::split(
    std::string_view text, std::size_t numBefore,
    std::vector<std::int32_t> &symbols,
    std::map<std::int32_t, std::string_view> &unknown) const {
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t code;
    utf8proc_ssize_t size = utf8proc_iterate(
        reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + i,
        utf8proc_ssize_t(text.size() - i), &code);
    if (size < 1)
      return Error{"expected UTF-8, got byte " +
                       std::to_string(std::uint8_t(text[i])) + " at " +
                       std::to_string(numBefore + i),
                   {}};
    std::string character(text.substr(i, std::size_t(size)));
    if (character == " ")
      character = blank;
    if (auto found = numbers.find(character); found != numbers.end()) {
      symbols.push_back(found->second);
    } else {
      symbols.push_back(std::int32_t(texts.size() + unknown.size()));
      unknown.emplace(symbols.back(), text.substr(i, std::size_t(size)));
    }
    i += std::size_t(size);
  }
  return {};
}

Status SentencePieceEncoder::encode(std::string_view text,
                                    std::size_t numBefore,
                                    std::vector<std::int32_t> &result) const {
  std::vector<std::int32_t> symbols;
  std::map<std::int32_t, std::string_view> unknown;
  if (addsBlank)
    if (Status status = split(" ", 0, symbols, unknown); !status)
      return status;
  if (Status status = split(text, numBefore, symbols, unknown); !status)
    return status;
  auto size = std::int32_t(texts.size());
  mergePairs(
      symbols,
      [&](std::int32_t left, std::int32_t right) -> std::optional<Merge> {
        if (left >= size || right >= size)
          return std::nullopt;
        auto found =
            numbers.find(texts[std::size_t(left)] + texts[std::size_t(right)]);
        if (found == numbers.end())
          return std::nullopt;
        return Merge{-scores[std::size_t(found->second)], found->second};
      });
  for (std::int32_t symbol : symbols) {
    if (symbol < size) {
      result.push_back(symbol);
      continue;
    }
    for (char byte : unknown.at(symbol)) {
      std::int32_t token = tokenOfByte[std::uint8_t(byte)];
      if (token < 0)
        return Error{"the vocabulary has no token for byte " +
                         std::to_string(std::uint8_t(byte)),
                     {}};
      result.push_back(token);
    }
  }
  return {};
}

Expected<std::unique_ptr<Encoder>>
bpe::createSentencePiece(const gguf::File &file, Vocabulary &vocabulary) {
  auto encoder = std::make_unique<SentencePieceEncoder>();
  if (Status status = encoder->addTokens(file, vocabulary); !status)
    return status.error();
  const char *key = "tokenizer.ggml.add_space_prefix";
  if (file.has(key)) {
    Expected<bool> adds = file.boolean(key);
    if (!adds)
      return adds.error();
    encoder->addsBlank = *adds;
  }
  return std::unique_ptr<Encoder>(std::move(encoder));
}

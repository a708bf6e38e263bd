//===- Gpt2.cpp - The encoding of GPT-2 -----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Encoder.h"
#include "examples/bpe/Merging.h"
#include "examples/bpe/Words.h"
#include "examples/gguf/Message.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

using namespace bpe;
using attn::Error;
using attn::Expected;
using attn::Status;
using gguf::quoted;

/// The character that stands for each byte in a vocabulary: itself if it is
/// printable and no space, and one from U+0100 on if not.
static std::array<std::uint16_t, 256> makeAlphabet() {
  std::array<std::uint16_t, 256> alphabet{};
  std::uint16_t next = 0x100;
  for (std::uint16_t byte = 0; byte < 256; ++byte) {
    bool isPrintable = (byte >= '!' && byte <= '~') ||
                       (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    alphabet[byte] = isPrintable ? byte : next++;
  }
  return alphabet;
}

/// The bytes that a text of the alphabet stands for; none if it is not one.
static std::optional<std::string> bytesOf(std::string_view text) {
  static const std::vector<std::int16_t> byteOf = [] {
    std::vector<std::int16_t> bytes(0x200, -1);
    std::array<std::uint16_t, 256> alphabet = makeAlphabet();
    for (std::size_t byte = 0; byte < 256; ++byte)
      bytes[alphabet[byte]] = std::int16_t(byte);
    return bytes;
  }();
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t character = std::uint8_t(text[i]);
    // All of the alphabet has one or two bytes in UTF-8.
    if (character >= 0x80) {
      std::size_t next = ++i < text.size() ? std::uint8_t(text[i]) : 0;
      if (character < 0xc2 || character > 0xc7 || (next & 0xc0) != 0x80)
        return std::nullopt;
      character = (character & 0x1f) << 6 | (next & 0x3f);
    }
    if (byteOf[character] < 0)
      return std::nullopt;
    bytes += char(byteOf[character]);
  }
  return bytes;
}

static std::uint64_t pairOf(std::int32_t left, std::int32_t right) {
  return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
}

namespace {
class Gpt2Encoder : public Encoder {
public:
  Status addTokens(const gguf::File &file, Vocabulary &vocabulary);
  Status addMerges(const gguf::File &file, const Vocabulary &vocabulary);
  Status encode(std::string_view text, std::size_t numBefore,
                std::vector<std::int32_t> &result) const override;

private:
  std::vector<std::int32_t> tokenOfByte; ///< -1 where there is none.
  /// By the two tokens that are merged.
  std::unordered_map<std::uint64_t, Merge> merges;
};
} // namespace

Status Gpt2Encoder::addTokens(const gguf::File &file, Vocabulary &vocabulary) {
  Expected<FileTokens> read = readTokens(file);
  if (!read)
    return read.error();
  tokenOfByte.assign(256, -1);
  for (std::size_t i = 0; i < read->texts.size(); ++i) {
    auto token = std::int32_t(i);
    std::string_view text = read->texts[i];
    if (read->types[i] == controlType) {
      vocabulary.tokens.emplace_back(text);
      vocabulary.controls.push_back(token);
      continue;
    }
    std::optional<std::string> bytes = bytesOf(text);
    if (!bytes)
      return Error{"'tokenizer.ggml.tokens': token " + std::to_string(i) +
                       ", " + quoted(text) +
                       ", is not written in GPT-2's alphabet of bytes",
                   {}};
    if (bytes->size() == 1)
      tokenOfByte[std::uint8_t((*bytes)[0])] = token;
    vocabulary.tokens.push_back(std::move(*bytes));
  }
  return {};
}

Status Gpt2Encoder::addMerges(const gguf::File &file,
                              const Vocabulary &vocabulary) {
  Expected<std::vector<std::string_view>> texts =
      file.texts("tokenizer.ggml.merges");
  if (!texts)
    return texts.error();
  std::unordered_map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i)
    if (!std::ranges::binary_search(vocabulary.controls, std::int32_t(i)))
      numbers.emplace(vocabulary.tokens[i], std::int32_t(i));
  auto find = [&](const std::optional<std::string> &bytes) {
    auto found = bytes ? numbers.find(*bytes) : numbers.end();
    return found == numbers.end() ? -1 : found->second;
  };
  merges.reserve(texts->size());
  for (std::size_t i = 0; i < texts->size(); ++i) {
    std::string_view text = (*texts)[i];
    std::size_t space = text.find(' ');
    auto left = bytesOf(text.substr(0, space));
    auto right = bytesOf(space == text.npos ? "" : text.substr(space + 1));
    std::int32_t first = find(left), second = find(right);
    std::int32_t both = left && right ? find(*left + *right) : -1;
    if (first < 0 || second < 0 || both < 0)
      return Error{"'tokenizer.ggml.merges': entry " + std::to_string(i) +
                       ", " + quoted(text) +
                       ", does not merge two tokens to a third",
                   {}};
    merges.emplace(pairOf(first, second), Merge{double(i), both});
  }
  return {};
}

Status Gpt2Encoder::encode(std::string_view text, std::size_t numBefore,
                           std::vector<std::int32_t> &result) const {
  Expected<std::vector<std::string_view>> pieces = splitWords(text, numBefore);
  if (!pieces)
    return pieces.error();
  for (std::string_view piece : *pieces) {
    std::vector<std::int32_t> symbols;
    for (char byte : piece) {
      symbols.push_back(tokenOfByte[std::uint8_t(byte)]);
      if (symbols.back() < 0)
        return Error{"the vocabulary has no token for byte " +
                         std::to_string(std::uint8_t(byte)),
                     {}};
    }
    mergePairs(symbols, [&](std::int32_t left, std::int32_t right) {
      auto found = merges.find(pairOf(left, right));
      return found == merges.end() ? std::nullopt
                                   : std::optional(found->second);
    });
    result.insert(result.end(), symbols.begin(), symbols.end());
  }
  return {};
}

Expected<std::unique_ptr<Encoder>> bpe::createGpt2(const gguf::File &file,
                                                   Vocabulary &vocabulary) {
  const char *key = "tokenizer.ggml.pre";
  Expected<std::string_view> words = file.text(key);
  if (!words)
    return words.error();
  if (*words != "smollm")
    return Error{quoted(key) + ": expected 'smollm', got " + quoted(*words),
                 {}};
  auto encoder = std::make_unique<Gpt2Encoder>();
  if (Status status = encoder->addTokens(file, vocabulary); !status)
    return status.error();
  if (Status status = encoder->addMerges(file, vocabulary); !status)
    return status.error();
  return std::unique_ptr<Encoder>(std::move(encoder));
}

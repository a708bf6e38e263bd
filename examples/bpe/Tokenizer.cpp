//===- Tokenizer.cpp - Text to tokens and back ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Tokenizer.h"

#include "examples/bpe/Words.h"
#include "examples/gguf/Message.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>

using namespace bpe;
using attn::Error;
using attn::Expected;
using attn::Status;

/// The entry of tokenizer.ggml.token_type of a control token.
static constexpr std::int64_t controlType = 3;

static std::uint64_t pairOf(std::int32_t left, std::int32_t right) {
  return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
}

//===----------------------------------------------------------------------===//
// The alphabet of bytes
//===----------------------------------------------------------------------===//

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
      if (character < 0xc2 || character > 0xc7 || ++i == text.size() ||
          (std::uint8_t(text[i]) & 0xc0) != 0x80)
        return std::nullopt;
      character = (character & 0x1f) << 6 | (std::uint8_t(text[i]) & 0x3f);
    }
    if (byteOf[character] < 0)
      return std::nullopt;
    bytes += char(byteOf[character]);
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// The vocabulary
//===----------------------------------------------------------------------===//

Status Tokenizer::addTokens(const gguf::File &file) {
  Expected<std::vector<std::string_view>> texts =
      file.texts("tokenizer.ggml.tokens");
  if (!texts)
    return texts.error();
  Expected<std::vector<std::int64_t>> types =
      file.integers("tokenizer.ggml.token_type");
  if (!types)
    return types.error();
  if (types->size() != texts->size())
    return Error{"'tokenizer.ggml.token_type': expected " +
                     std::to_string(texts->size()) +
                     " entries, as there are tokens, got " +
                     std::to_string(types->size()),
                 {}};
  tokenOfByte.assign(256, -1);
  for (std::size_t i = 0; i < texts->size(); ++i) {
    auto token = std::int32_t(i);
    if ((*types)[i] == controlType) {
      tokens.emplace_back((*texts)[i]);
      controls.push_back(token);
      continue;
    }
    std::optional<std::string> bytes = bytesOf((*texts)[i]);
    if (!bytes)
      return Error{"'tokenizer.ggml.tokens': token " + std::to_string(i) +
                       ", " + gguf::quoted((*texts)[i]) +
                       ", is not written in GPT-2's alphabet of bytes",
                   {}};
    if (bytes->size() == 1)
      tokenOfByte[std::uint8_t((*bytes)[0])] = token;
    tokens.push_back(std::move(*bytes));
  }
  return {};
}

Status Tokenizer::addMerges(const gguf::File &file) {
  Expected<std::vector<std::string_view>> texts =
      file.texts("tokenizer.ggml.merges");
  if (!texts)
    return texts.error();
  std::unordered_map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (!std::ranges::binary_search(controls, std::int32_t(i)))
      numbers.emplace(tokens[i], std::int32_t(i));
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
                       ", " + gguf::quoted(text) +
                       ", does not merge two tokens to a third",
                   {}};
    merges.emplace(pairOf(first, second), Merge{std::int32_t(i), both});
  }
  return {};
}

Expected<Tokenizer> Tokenizer::create(const gguf::File &file) {
  for (auto [key, expected] : {std::pair("tokenizer.ggml.model", "gpt2"),
                               std::pair("tokenizer.ggml.pre", "smollm")}) {
    Expected<std::string_view> kind = file.text(key);
    if (!kind)
      return kind.error();
    if (*kind != expected)
      return Error{gguf::quoted(key) + ": expected '" + expected + "', got " +
                       gguf::quoted(*kind),
                   {}};
  }
  Tokenizer tokenizer;
  if (Status status = tokenizer.addTokens(file); !status)
    return status.error();
  if (Status status = tokenizer.addMerges(file); !status)
    return status.error();
  Expected<std::int64_t> end = file.integer("tokenizer.ggml.eos_token_id");
  if (!end)
    return end.error();
  if (*end < 0 || *end >= tokenizer.size())
    return Error{"'tokenizer.ggml.eos_token_id': expected one of " +
                     std::to_string(tokenizer.size()) + " tokens, got " +
                     std::to_string(*end),
                 {}};
  tokenizer.end = std::int32_t(*end);
  return tokenizer;
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// Merges the pair that comes first in the list of merges, the leftmost one of
/// them, until there is none. Takes n log n steps, whatever is typed.
void Tokenizer::encodePiece(std::vector<std::int32_t> &symbols) const {
  // A merged symbol stays at the place of its left part; the other is -1.
  std::vector<std::size_t> previous(symbols.size()), next(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    previous[i] = i - 1;
    next[i] = i + 1;
  }
  struct Candidate {
    std::int32_t rank;
    std::size_t place;
    std::int32_t left, right, merged;
    bool operator>(const Candidate &other) const {
      return std::tie(rank, place) > std::tie(other.rank, other.place);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  auto consider = [&](std::size_t place) {
    if (place >= symbols.size() || next[place] >= symbols.size())
      return;
    std::int32_t left = symbols[place], right = symbols[next[place]];
    if (auto found = merges.find(pairOf(left, right)); found != merges.end())
      queue.push({found->second.rank, place, left, right, found->second.token});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i)
    consider(i);
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    std::size_t place = best.place, after = next[place];
    // One of them may have been merged since.
    if (symbols[place] != best.left || after >= symbols.size() ||
        symbols[after] != best.right)
      continue;
    symbols[place] = best.merged;
    symbols[after] = -1;
    next[place] = next[after];
    if (next[place] < symbols.size())
      previous[next[place]] = place;
    consider(previous[place]);
    consider(place);
  }
  std::erase(symbols, -1);
}

/// The tokens of text from one place to another, where it has no control
/// tokens, added to `result`.
Status Tokenizer::encodeText(std::string_view text, std::size_t begin,
                             std::size_t end,
                             std::vector<std::int32_t> &result) const {
  Expected<std::vector<std::string_view>> pieces =
      splitWords(text.substr(begin, end - begin), begin);
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
    encodePiece(symbols);
    result.insert(result.end(), symbols.begin(), symbols.end());
  }
  return {};
}

Expected<std::vector<std::int32_t>>
Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> result;
  std::size_t begin = 0; // Of the text since the last control token.
  for (std::size_t i = 0; i < text.size();) {
    std::int32_t longest = -1;
    for (std::int32_t control : controls) {
      std::string_view name = tokens[std::size_t(control)];
      if (!name.empty() && text.substr(i).starts_with(name) &&
          (longest < 0 || name.size() > tokens[std::size_t(longest)].size()))
        longest = control;
    }
    if (longest < 0) {
      ++i;
      continue;
    }
    if (Status status = encodeText(text, begin, i, result); !status)
      return status.error();
    result.push_back(longest);
    begin = i += tokens[std::size_t(longest)].size();
  }
  if (Status status = encodeText(text, begin, text.size(), result); !status)
    return status.error();
  return result;
}

std::string_view Tokenizer::decode(std::int32_t token) const {
  if (token < 0 || token >= size())
    return {};
  return tokens[std::size_t(token)];
}

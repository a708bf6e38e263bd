//===- Mutation.cpp - Changes IR text as mistakes do ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Fuzz/Mutation.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace attn::test;
using std::string;
using std::string_view;

/// Sizes of dimensions.
static const std::vector<string> sizes = {
    "?", "0", "1",  "2",  "3",  "4",   "5",          "8",
    "?", "9", "16", "17", "64", "257", "2147483648", "4611686018427387904"};

/// Indices, bounds and other numbers.
static const std::vector<string> numbers = {"0",
                                            "-1",
                                            "1",
                                            "2",
                                            "3",
                                            "4",
                                            "5",
                                            "7",
                                            "16",
                                            "31",
                                            "64",
                                            "65",
                                            "128",
                                            "255",
                                            "1000",
                                            "65536",
                                            "16777215",
                                            "1000000007",
                                            "2147483647",
                                            "-2147483648",
                                            "4294967296",
                                            "2305843009213693952",
                                            "9223372036854775807",
                                            "-9223372036854775808",
                                            "18446744073709551615",
                                            "1.0e38",
                                            "0x7F800000"};

static const std::vector<string> types = {
    "f16", "bf16", "f32", "f64",   "i1",       "i4",    "i8",
    "i16", "i32",  "i64", "index", "f8E4M3FN", "f8E5M2"};

static bool isWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '%' ||
         c == '@' || c == '#' || c == '^' || c == '$' || c == '?';
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\t'; }

/// Words, runs of whitespace, and other characters alone. All of `text`.
static std::vector<string> split(string_view text) {
  std::vector<string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    for (auto belongs : {isWord, isSpace})
      if (belongs(text[i]))
        while (end < text.size() && belongs(text[end]))
          ++end;
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

static std::vector<string> splitLines(string_view text) {
  std::vector<string> lines;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

static string join(const std::vector<string> &parts) {
  string text;
  for (const string &part : parts)
    text += part;
  return text;
}

static std::size_t pickIndex(std::size_t size, Random &random) {
  return std::size_t(random.between(0, std::int64_t(size) - 1));
}

/// A position of what is no whitespace; the first if there is none.
static std::size_t pickToken(const std::vector<string> &tokens,
                             Random &random) {
  for (int tries = 0; tries < 8; ++tries)
    if (std::size_t i = pickIndex(tokens.size(), random);
        !isSpace(tokens[i][0]))
      return i;
  return 0;
}

/// Swaps, removes or repeats tokens or lines.
static void rearrange(std::vector<string> &parts, Random &random) {
  std::size_t i = pickToken(parts, random), j = pickToken(parts, random);
  auto at = parts.begin() + std::ptrdiff_t(i);
  switch (random.between(0, 2)) {
  case 0:
    std::swap(parts[i], parts[j]);
    break;
  case 1:
    parts.erase(at);
    break;
  default:
    parts.insert(at, string(*at));
  }
}

/// What a token is: one of the same kind may stand for it, and the text parse.
static char classify(const string &token) {
  char first = token[0];
  if (!isWord(first) || first == '%' || first == '@' || first == '#')
    return first;
  if (isDigit(first) || first == '?')
    return token.find('x') == string::npos ? '0' : 'x';
  if (std::find(types.begin(), types.end(), token) != types.end())
    return 't';
  return token.find('.') == string::npos ? 'k' : 'o';
}

static bool areAlike(const string &a, const string &b) {
  return a != b && isWord(a[0]) && classify(a) == classify(b) &&
         a != "tensor" && b != "tensor";
}

/// Puts a token from `source` into `tokens`, most often for one like it.
static void transplant(std::vector<string> &tokens,
                       const std::vector<string> &source, Random &random) {
  bool alike = random.chance(0.9);
  for (int tries = 0; tries < 64; ++tries) {
    const string &token = source[pickToken(source, random)];
    string &place = tokens[pickToken(tokens, random)];
    if (alike && !areAlike(token, place))
      continue;
    place = token;
    return;
  }
}

namespace {
/// Part of a text that one of a list of words may replace.
struct Place {
  std::size_t position, length;
};
} // namespace

/// The sizes in types, such as those of "4x?xf32", or all other numbers.
static std::vector<Place> findNumbers(string_view text, bool areSizes) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < text.size();) {
    char before = i ? text[i - 1] : ' ';
    std::size_t end = i;
    while (end < text.size() && isDigit(text[end]))
      ++end;
    if (end == i && text[i] == '?')
      ++end;
    bool isSize = (before == '<' || before == 'x') && end < text.size() &&
                  text[end] == 'x';
    if (end > i && (isSize || !isWord(before)) && isSize == areSizes)
      places.push_back({i, end - i});
    i = std::max(end, i + 1);
  }
  return places;
}

static std::vector<Place> findTypes(string_view text) {
  std::vector<Place> places;
  for (const string &type : types)
    for (std::size_t i = text.find(type); i != string_view::npos;
         i = text.find(type, i + 1)) {
      char before = i ? text[i - 1] : ' ';
      std::size_t end = i + type.size();
      char after = end < text.size() ? text[end] : ' ';
      if ((!isWord(before) || before == 'x') && !isWord(after))
        places.push_back({i, type.size()});
    }
  return places;
}

/// Replaces one of `places`; most often, all that say the same as it.
static string replace(string_view text, std::vector<Place> places,
                      const std::vector<string> &words, Random &random) {
  if (places.empty())
    return string(text);
  Place chosen = places[pickIndex(places.size(), random)];
  string_view old = text.substr(chosen.position, chosen.length);
  bool everywhere = random.chance(0.7);
  string word = random.pick(words);
  // From the end, so that positions stay.
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return a.position > b.position;
  });
  string result(text);
  for (const Place &place : places)
    if (place.position == chosen.position ||
        (everywhere && text.substr(place.position, place.length) == old))
      result.replace(place.position, place.length, word);
  return result;
}

static string flipByte(string_view text, Random &random) {
  string result(text);
  char &byte = result[pickIndex(result.size(), random)];
  byte = random.chance(0.5) ? char(byte ^ (1 << random.between(0, 7)))
                            : char(random.bits());
  return result;
}

static string mutateOnce(string_view text, string_view other, Random &random) {
  if (text.empty())
    return string(other);
  switch (random.between(0, 9)) {
  case 0: {
    if (random.chance(0.5))
      return flipByte(text, random);
    std::vector<string> lines = splitLines(text);
    rearrange(lines, random);
    return join(lines);
  }
  case 1: {
    std::vector<string> tokens = split(text);
    rearrange(tokens, random);
    return join(tokens);
  }
  case 2:
  case 3:
  case 4: {
    std::vector<string> tokens = split(text);
    transplant(tokens, random.chance(0.7) ? tokens : split(other), random);
    return join(tokens);
  }
  case 5:
    return replace(text, findTypes(text), types, random);
  case 6:
  case 7:
    return replace(text, findNumbers(text, /*areSizes=*/true), sizes, random);
  default:
    return replace(text, findNumbers(text, /*areSizes=*/false), numbers,
                   random);
  }
}

string attn::test::mutate(string_view text, string_view other, Random &random) {
  string result = mutateOnce(text, other, random);
  while (random.chance(0.3))
    result = mutateOnce(result, other, random);
  return result;
}

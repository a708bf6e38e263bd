//===- Words.cpp - Text in pieces that tokens do not cross ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/bpe/Words.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utf8proc.h>

using namespace bpe;
using attn::Error;
using attn::Expected;

namespace {

enum class Class { letter, number, space, other };

struct Character {
  std::size_t begin = 0; ///< Its first byte.
  Class kind = Class::other;
};

} // namespace

/// Unicode's property White_Space, which is not a category.
static bool isSpace(std::int32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static Class classOf(std::int32_t c) {
  if (isSpace(c))
    return Class::space;
  switch (utf8proc_category(c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
    return Class::letter;
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_NO:
    return Class::number;
  default:
    return Class::other;
  }
}

/// Bytes of the contraction that `text` starts with; 0 if there is none.
static std::size_t lengthOfContraction(std::string_view text) {
  for (std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(ending))
      return ending.size();
  return 0;
}

/// How many of the characters, none of which is a number, are the first piece.
/// `text` starts with the first of them, and `rest` may be empty.
static std::size_t takePiece(std::span<const Character> rest,
                             std::string_view text) {
  // Contractions are of one byte each.
  if (std::size_t length = lengthOfContraction(text);
      length && length <= rest.size())
    return length;
  auto run = [&](std::size_t begin) {
    std::size_t end = begin;
    while (end < rest.size() && rest[end].kind == rest[begin].kind)
      ++end;
    return end;
  };
  bool hasSpace = text.starts_with(' ');
  if (hasSpace && rest.size() > 1 && rest[1].kind != Class::space)
    return run(1);
  std::size_t end = run(0);
  if (rest[0].kind != Class::space || end == rest.size() || end == 1)
    return end;
  // The last space belongs to what follows.
  return end - 1;
}

Expected<std::vector<std::string_view>> bpe::splitWords(std::string_view text,
                                                        std::size_t numBefore) {
  std::vector<Character> characters;
  for (std::size_t i = 0; i < text.size();) {
    std::int32_t codepoint = -1;
    auto length = utf8proc_iterate(
        reinterpret_cast<const utf8proc_uint8_t *>(text.data() + i),
        utf8proc_ssize_t(text.size() - i), &codepoint);
    if (length < 1)
      return Error{"expected UTF-8, got byte " +
                       std::to_string(std::uint8_t(text[i])) + " at " +
                       std::to_string(numBefore + i),
                   {}};
    characters.push_back({i, classOf(codepoint)});
    i += std::size_t(length);
  }
  std::vector<std::string_view> pieces;
  auto beginOf = [&](std::size_t i) {
    return i < characters.size() ? characters[i].begin : text.size();
  };
  std::size_t begin = 0, endOfRun = 0;
  while (begin < characters.size()) {
    std::size_t end = begin + 1;
    if (characters[begin].kind != Class::number) {
      while (endOfRun < characters.size() &&
             (endOfRun <= begin || characters[endOfRun].kind != Class::number))
        ++endOfRun;
      end = begin +
            takePiece(std::span(characters).subspan(begin, endOfRun - begin),
                      text.substr(beginOf(begin)));
    }
    pieces.push_back(
        text.substr(beginOf(begin), beginOf(end) - beginOf(begin)));
    begin = end;
  }
  return pieces;
}

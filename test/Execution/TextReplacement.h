//===- TextReplacement.h - Texts with parts to fill in ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_TEXTREPLACEMENT_H
#define ATTN_TEST_EXECUTION_TEXTREPLACEMENT_H

#include <cstdio>
#include <cstdlib>
#include <string>

namespace attn::test {

/// `text` with every `from` replaced by `to`. Ends the test if there is none.
inline std::string replaceAll(std::string text, const std::string &from,
                              const std::string &to) {
  std::size_t at = text.find(from);
  if (at == std::string::npos) {
    std::fprintf(stderr, "no '%s' to replace\n", from.c_str());
    std::abort();
  }
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_TEXTREPLACEMENT_H

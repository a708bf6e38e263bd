//===- Message.h - Text of others in error messages -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_GGUF_MESSAGE_H
#define ATTN_EXAMPLES_GGUF_MESSAGE_H

#include <string>
#include <string_view>

namespace gguf {

/// The text in quotes for one line of a terminal: at most 60 bytes of it, and
/// '?' for what is not printable ASCII.
inline std::string quoted(std::string_view text) {
  std::string result = "'";
  for (char character : text.substr(0, 60))
    result += character >= ' ' && character <= '~' ? character : '?';
  return result + (text.size() > 60 ? "...'" : "'");
}

} // namespace gguf

#endif // ATTN_EXAMPLES_GGUF_MESSAGE_H

//===- TextLimits.h - Text that no parser survives --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_TEXTLIMITS_H
#define ATTN_RUNTIME_BRIDGE_TEXTLIMITS_H

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// What is wrong with a text, and where; both numbers start at 1.
struct TextFault {
  unsigned line, column;
  std::string message;
};

/// Finds what MLIR's parser or passes would not survive: what is nested so
/// deeply, aliases counted, that their recursion could overflow the stack;
/// aliases of aliases that stand for more than memory holds; what the parser is
/// known to crash on.
std::optional<TextFault> findTextFault(std::string_view text);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_TEXTLIMITS_H

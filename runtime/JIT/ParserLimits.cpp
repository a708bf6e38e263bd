//===- ParserLimits.cpp - Text that no parser survives --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/ParserLimits.h"

#include <algorithm>

using namespace attn;

/// Open brackets, and operators in one affine expression: the parser recurses
/// for both. Far above what anyone writes, far below what overflows.
static constexpr unsigned maxNesting = 256;

/// Where the string or comment that starts at `position` ends, or `position` if
/// there is none.
static std::size_t skipQuoted(std::string_view text, std::size_t position) {
  if (text.substr(position, 2) == "//")
    return std::min(text.find('\n', position), text.size());
  if (text[position] != '"')
    return position;
  for (++position; position < text.size() && text[position] != '"'; ++position)
    if (text[position] == '\\')
      ++position;
  return std::min(position + 1, text.size());
}

/// Length of the operator of an affine expression at the front of `text`; 0 if
/// there is none.
static std::size_t getOperatorLength(std::string_view text) {
  for (std::string_view name : {"+", "-", "*", "floordiv", "ceildiv", "mod"})
    if (text.starts_with(name))
      return name.size();
  return 0;
}

/// Whether `text` begins with an array attribute of index, which the parser
/// does not survive.
static bool startsWithIndexArray(std::string_view text) {
  for (std::string_view token : {"array", "<", "index"}) {
    if (!text.starts_with(token))
      return false;
    text.remove_prefix(token.size());
    text.remove_prefix(
        std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  return true;
}

static Error describe(std::string_view text, std::size_t position,
                      std::string message, const CompileOptions &options) {
  std::string_view before = text.substr(0, position);
  Diagnostic diagnostic;
  diagnostic.file = options.fileName;
  diagnostic.line =
      1 + unsigned(std::count(before.begin(), before.end(), '\n'));
  diagnostic.column = unsigned(position - before.rfind('\n'));
  diagnostic.message = std::move(message);
  return {"cannot compile: " + diagnostic.file + ":" +
              std::to_string(diagnostic.line) + ":" +
              std::to_string(diagnostic.column) + ": " + diagnostic.message,
          {diagnostic}};
}

std::optional<Error> jit::checkParserLimits(std::string_view text,
                                            const CompileOptions &options) {
  unsigned depth = 0, operators = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (std::size_t end = skipQuoted(text, i); end != i) {
      i = end;
      continue;
    }
    std::string_view rest = text.substr(i);
    if (startsWithIndexArray(rest))
      return describe(text, i, "array attributes of index are not supported",
                      options);
    if (rest.starts_with("->") || rest.starts_with("<=") ||
        rest.starts_with(">=")) {
      i += 2;
      continue;
    }
    if (std::size_t length = getOperatorLength(rest)) {
      ++operators;
      i += length;
    } else {
      char c = rest.front();
      if (c == '(' || c == '[' || c == '{' || c == '<')
        ++depth;
      else if ((c == ')' || c == ']' || c == '}' || c == '>') && depth > 0)
        --depth;
      if (c == ',' || c == '=' || c == '%')
        operators = 0;
      ++i;
    }
    if (depth + operators > maxNesting)
      return describe(text, i - 1,
                      "nested more than " + std::to_string(maxNesting) +
                          " levels deep",
                      options);
  }
  return std::nullopt;
}

//===- Prompts.cpp - A file of prompts ------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/smollm2/Prompts.h"

#include "examples/gguf/Message.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

using namespace smollm2;
using attn::Error;
using attn::Expected;
using gguf::quoted;

/// The text that a line stands for.
static Expected<std::string> unescape(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    std::string_view next = line.substr(++i, 1);
    if (next == "n")
      text += '\n';
    else if (next == "t")
      text += '\t';
    else if (next == "\\")
      text += '\\';
    else
      return Error{"expected 'n', 't' or '\\' after a backslash, got " +
                       quoted(next),
                   {}};
  }
  if (text.empty())
    return Error{"expected a prompt, got an empty line", {}};
  return text;
}

Expected<std::vector<std::string>>
smollm2::readPrompts(const std::string &path) {
  auto fail = [&](const std::string &why) {
    return Error{path + ": " + why, {}};
  };
  std::error_code code;
  auto status = std::filesystem::status(path, code);
  if (code)
    return fail("cannot open: " + code.message());
  if (!std::filesystem::is_regular_file(status))
    return fail("not a regular file");
  std::ifstream stream(path);
  if (!stream)
    return fail("cannot open: " + std::string(std::strerror(errno)));
  std::vector<std::string> prompts;
  for (std::string line; std::getline(stream, line);) {
    Expected<std::string> prompt = unescape(line);
    if (!prompt)
      return Error{path + ":" + std::to_string(prompts.size() + 1) + ": " +
                       prompt.error().message,
                   {}};
    prompts.push_back(std::move(*prompt));
  }
  if (stream.bad())
    return fail("cannot read");
  if (prompts.empty())
    return fail("expected a prompt, got an empty file");
  return prompts;
}

//===- Prompts.h - A file of prompts ----------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_SMOLLM2_PROMPTS_H
#define ATTN_EXAMPLES_SMOLLM2_PROMPTS_H

#include "attn/error.h"

#include <string>
#include <vector>

namespace smollm2 {

/// The prompts of a file, one a line, in which "\n" is a new line, "\t" a tab
/// and "\\" a backslash. Errors, which begin with the path: no such file, none
/// that can be read, no line, an empty one, another character after a
/// backslash.
attn::Expected<std::vector<std::string>> readPrompts(const std::string &path);

} // namespace smollm2

#endif // ATTN_EXAMPLES_SMOLLM2_PROMPTS_H

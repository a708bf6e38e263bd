//===- Options.h - The command line of attn-compile -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNCOMPILE_OPTIONS_H
#define ATTN_TOOLS_ATTNCOMPILE_OPTIONS_H

#include "attn/object.h"

#include <string>

namespace attn::compile {

/// What the user asked for; Options.td says what each option means.
struct Options {
  std::string inputFile;
  std::string outputFile;
  std::string headerFile;
  ObjectOptions object;
  bool remarks = false;
  /// Help was asked for: nothing else counts.
  bool help = false;
};

Expected<Options> parseOptions(int argc, char **argv);

/// Prints on stdout what the options are.
void printHelp();

} // namespace attn::compile

#endif // ATTN_TOOLS_ATTNCOMPILE_OPTIONS_H

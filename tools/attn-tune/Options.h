//===- Options.h - Command line of attn-tune --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNTUNE_OPTIONS_H
#define ATTN_TOOLS_ATTNTUNE_OPTIONS_H

#include "attn/engine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::tune {

/// What the user asked for; Options.td says what each option means.
struct Options {
  std::string inputFile;
  std::string outputFile = "-";
  std::vector<std::string> arguments;
  std::optional<std::uint64_t> randomSeed;
  EngineOptions engine = {.threads = 1};
  CompileOptions compile;
  TuningOptions tuning;
  /// Help was asked for: nothing else counts.
  bool help = false;
};

Expected<Options> parseOptions(int argc, char **argv);

/// Prints on stdout what the options are.
void printHelp();

} // namespace attn::tune

#endif // ATTN_TOOLS_ATTNTUNE_OPTIONS_H

//===- Options.h - The command line of attn-run -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_OPTIONS_H
#define ATTN_TOOLS_ATTNRUN_OPTIONS_H

#include "attn/ranks.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::run {

/// What the user asked for; Options.td says what each option means.
struct Options {
  std::string inputFile;
  std::string entry;
  std::vector<std::string> arguments;
  std::optional<std::uint64_t> randomSeed;
  std::vector<std::string> outputFiles;
  std::vector<std::string> expectedFiles;
  bool check = false;
  std::string pipeline = "cpu";
  bool fallBackToCPU = false;
  bool quantizeQueries = false;
  std::string cpu;
  unsigned threads = 1;
  unsigned repeat = 1;
  std::string jsonFile;
  std::string cacheDirectory;
  std::optional<CodeForm> emittedForm; ///< Nothing is run if there is one.
  std::string emittedFile = "-";
  bool remarks = false;
  std::optional<double> tuningSeconds; ///< Tuning was asked for.
  /// The gradient was asked for, with respect to these, or all.
  std::optional<std::vector<std::string>> gradientOf;
  /// The same of the tangent, of the gradient if both were asked for.
  std::optional<std::vector<std::string>> tangentOf;
  bool mpi = false;
  std::string split;
  double timeLimit = RanksOptions().timeLimit; ///< Of ranks, in seconds.
  /// Help was asked for: nothing else counts.
  bool help = false;
};

Expected<Options> parseOptions(int argc, char **argv);

/// Prints on stdout what the options are.
void printHelp();

} // namespace attn::run

#endif // ATTN_TOOLS_ATTNRUN_OPTIONS_H

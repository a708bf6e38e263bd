//===- Options.cpp - Command line of attn-tune ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-tune/Options.h"

#define ATTN_OPTIONS "tools/attn-tune/Options.inc"
#include "tools/CommandLine.inc"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::tune;

static Error expected(const Arg &arg, const std::string &what) {
  return Error{arg.getSpelling().str() + ": expected " + what + ", got '" +
                   std::string(arg.getValue()) + "'",
               {}};
}

/// "1x8x512x64,-" as an --arg for each.
static std::vector<std::string> splitArguments(llvm::StringRef text) {
  std::vector<std::string> arguments;
  for (llvm::StringRef sizes : llvm::split(text, ','))
    arguments.push_back(sizes.str());
  return arguments;
}

/// Reads what only this tool has.
static Status readOptions(const InputArgList &parsed, Options &options) {
  options.outputFile = parsed.getLastArgValue(OPT_o, options.outputFile);
  options.arguments = parsed.getAllArgValues(OPT_arg);
  if (const Arg *arg = parsed.getLastArg(OPT_sizes)) {
    if (!options.arguments.empty())
      return Error{"expected --sizes or --arg, not both", {}};
    options.arguments = splitArguments(arg->getValue());
  }
  if (const Arg *arg = parsed.getLastArg(OPT_random)) {
    std::uint64_t seed = 0;
    if (!llvm::to_integer(arg->getValue(), seed, 10))
      return expected(*arg, "an integer from 0 on");
    options.randomSeed = seed;
  }
  if (const Arg *arg = parsed.getLastArg(OPT_seconds))
    if (!llvm::to_float(arg->getValue(), options.tuning.seconds) ||
        !(options.tuning.seconds >= 0))
      return expected(*arg, "seconds, such as 2.5");
  if (const Arg *arg = parsed.getLastArg(OPT_threads))
    if (!llvm::to_integer(arg->getValue(), options.engine.threads, 10))
      return expected(*arg, "an integer from 0 on");
  options.engine.cacheDirectory = parsed.getLastArgValue(OPT_cache_dir);
  options.compile.entry = parsed.getLastArgValue(OPT_entry);
  options.compile.quantizeQueries = parsed.hasArg(OPT_quantize_queries);
  options.compile.fileName = options.inputFile;
  return {};
}

Expected<Options> attn::tune::parseOptions(int argc, char **argv) {
  return parseCommandLine<Options>(argc, argv, readOptions);
}

void attn::tune::printHelp() {
  OptionTable().printHelp(
      llvm::outs(), "attn-tune [options] file.mlir",
      "Looks for plans with which a function of an MLIR file is faster on this "
      "machine, and writes them into it");
}

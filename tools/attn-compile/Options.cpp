//===- Options.cpp - The command line of attn-compile ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-compile/Options.h"

#define ATTN_OPTIONS "tools/attn-compile/Options.inc"
#include "tools/CommandLine.inc"

#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::compile;

/// Reads what only this tool has.
static Status readOptions(const InputArgList &parsed, Options &options) {
  options.outputFile = parsed.getLastArgValue(OPT_output);
  if (options.outputFile.empty())
    return Error{"-o: expected the name of the object file", {}};
  options.headerFile = parsed.getLastArgValue(OPT_header);
  if (options.headerFile.empty())
    return Error{"--header: expected the name of the header", {}};
  ObjectOptions &object = options.object;
  object.name = parsed.getLastArgValue(OPT_name);
  object.cpu = parsed.getLastArgValue(OPT_cpu);
  object.entry = parsed.getLastArgValue(OPT_entry);
  object.pipeline = parsed.getLastArgValue(OPT_pipeline, object.pipeline);
  object.quantizeQueries = parsed.hasArg(OPT_quantize_queries);
  object.fileName = options.inputFile;
  options.remarks = parsed.hasArg(OPT_remarks);
  return {};
}

Expected<Options> attn::compile::parseOptions(int argc, char **argv) {
  return parseCommandLine<Options>(argc, argv, readOptions);
}

void attn::compile::printHelp() {
  OptionTable().printHelp(
      llvm::outs(), "attn-compile [options] file.mlir",
      "Compiles a function of an MLIR file into an object file for C");
}

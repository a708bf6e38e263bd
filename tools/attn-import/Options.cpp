//===- Options.cpp - The command line of attn-import ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-import/Options.h"

#define ATTN_OPTIONS "tools/attn-import/Options.inc"
#include "tools/CommandLine.inc"

#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::import_onnx;

/// Reads what only this tool has.
static Status readOptions(const InputArgList &parsed, Options &options) {
  options.outputFile = parsed.getLastArgValue(OPT_output, options.outputFile);
  options.node = parsed.getLastArgValue(OPT_node);
  options.remarks = parsed.hasArg(OPT_remarks);
  return {};
}

Expected<Options> attn::import_onnx::parseOptions(int argc, char **argv) {
  return parseCommandLine<Options>(argc, argv, readOptions);
}

void attn::import_onnx::printHelp() {
  OptionTable().printHelp(
      llvm::outs(), "attn-import [options] model.onnx",
      "Writes what an ONNX model computes as an MLIR file for attn-run");
}

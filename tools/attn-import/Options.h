//===- Options.h - The command line of attn-import --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNIMPORT_OPTIONS_H
#define ATTN_TOOLS_ATTNIMPORT_OPTIONS_H

#include "attn/error.h"

#include <string>

namespace attn::import_onnx {

/// What the user asked for; Options.td says what each option means.
struct Options {
  std::string inputFile;
  std::string outputFile = "-";
  std::string node;
  bool remarks = false;
  /// Help was asked for: nothing else counts.
  bool help = false;
};

Expected<Options> parseOptions(int argc, char **argv);

/// Prints on stdout what the options are.
void printHelp();

} // namespace attn::import_onnx

#endif // ATTN_TOOLS_ATTNIMPORT_OPTIONS_H

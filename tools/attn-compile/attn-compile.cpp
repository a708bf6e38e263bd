//===- attn-compile.cpp - Compiles IR text ahead of time ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/OutputFiles.h"
#include "tools/PrintError.h"
#include "tools/attn-compile/Options.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace attn;
using namespace attn::compile;

static Status compileFile(const Options &options) {
  if (Status status = checkOutputFiles(
          {{"-o", options.outputFile}, {"--header", options.headerFile}},
          {{"the input", options.inputFile}});
      !status)
    return status;
  auto text =
      llvm::MemoryBuffer::getFileOrSTDIN(options.inputFile, /*IsText=*/true);
  if (!text)
    return Error{
        options.inputFile + ": cannot open: " + text.getError().message(), {}};
  Expected<ObjectFile> compiled =
      compileToObject((*text)->getBuffer(), options.object);
  if (!compiled)
    return std::move(compiled).error();
  if (options.remarks)
    printDiagnostics("attn-compile", compiled->remarks);
  auto object = writeFile(options.outputFile, compiled->object);
  if (!object)
    return std::move(object).error();
  auto header = writeFile(options.headerFile, compiled->header);
  if (!header)
    return std::move(header).error();
  (*object)->keep();
  (*header)->keep();
  return {};
}

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (options && options->help) {
    printHelp();
    return 0;
  }
  Status status = options ? compileFile(*options) : options.error();
  if (status)
    return 0;
  printError("attn-compile", status.error());
  return 1;
}

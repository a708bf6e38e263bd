//===- attn-import.cpp - Writes ONNX models as IR text --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/onnx.h"

#include "tools/OutputFiles.h"
#include "tools/PrintError.h"
#include "tools/attn-import/Options.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace attn;
using namespace attn::import_onnx;

/// The directory of a model, which may hold files of its data.
static std::string findDirectory(const std::string &file) {
  if (file == "-")
    return {};
  llvm::StringRef directory = llvm::sys::path::parent_path(file);
  return directory.empty() ? "." : directory.str();
}

static Status importFile(const Options &options) {
  if (Status status = checkOutputFiles({{"-o", options.outputFile}},
                                       {{"the input", options.inputFile}});
      !status)
    return status;
  auto model = llvm::MemoryBuffer::getFileOrSTDIN(
      options.inputFile, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!model)
    return Error{
        options.inputFile + ": cannot open: " + model.getError().message(), {}};
  OnnxOptions onnx = {.node = options.node,
                      .directory = findDirectory(options.inputFile),
                      .fileName = options.inputFile};
  if (options.remarks)
    onnx.onRemark = [](const Diagnostic &remark) {
      printDiagnostics("attn-import", remark);
    };
  Expected<std::string> text = importOnnx((*model)->getBuffer(), onnx);
  if (!text)
    return std::move(text).error();
  std::error_code error;
  llvm::ToolOutputFile file(options.outputFile, error, llvm::sys::fs::OF_None);
  if (!error) {
    file.os() << *text;
    file.os().flush();
    error = file.os().error();
    file.os().clear_error(); // Or the destructor ends the process.
  }
  if (error)
    return Error{options.outputFile + ": cannot write: " + error.message(), {}};
  file.keep();
  return {};
}

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (options && options->help) {
    printHelp();
    return 0;
  }
  Status status = options ? importFile(*options) : options.error();
  if (status)
    return 0;
  printError("attn-import", status.error());
  return 1;
}

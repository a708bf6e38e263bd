//===- attn-opt.cpp - Runs passes on IR text --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Registration/Registration.h"
#include "runtime/Bridge/TextLimits.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// Says what the parser would not survive in a file.
static LogicalResult checkText(const llvm::MemoryBuffer &file) {
  if (file.getBuffer().starts_with("ML\xefR")) // Bytecode.
    return success();
  std::optional<::attn::TextFault> fault =
      ::attn::findTextFault(file.getBuffer());
  if (fault)
    llvm::errs() << file.getBufferIdentifier() << ":" << fault->line << ":"
                 << fault->column << ": error: " << fault->message << "\n";
  return failure(fault.has_value());
}

/// What MlirOptMain does, but for a look at the text before it is parsed.
static LogicalResult runPasses(int argc, char **argv,
                               DialectRegistry &registry) {
  auto [inputName, outputName] = registerAndParseCLIOptions(
      argc, argv, "Attn optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, inputName, outputName, registry);

  llvm::InitLLVM init(argc, argv);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputName, &error);
  std::unique_ptr<llvm::ToolOutputFile> output;
  if (input && failed(checkText(*input)))
    return failure();
  if (!input || !(output = openOutputFile(outputName, &error))) {
    llvm::errs() << error << "\n";
    return failure();
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  mlir::attn::registerAllPasses();
  return asMainReturnCode(runPasses(argc, argv, registry));
}

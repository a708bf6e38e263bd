//===- attn-tune.cpp - Writes the best plans into a module ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/HostCall.h"
#include "tools/OutputFiles.h"
#include "tools/PrintError.h"
#include "tools/attn-tune/Options.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::tune;

/// What is tried, and how it went.
static void printStep(const TuningStep &step) {
  llvm::errs() << llvm::formatv("op {0}, {1}: {2:f3} times as fast{3}\n",
                                step.op, step.plan, step.timesFaster,
                                step.isKept ? ", kept" : "");
}

static Status tuneFile(const Options &options) {
  if (Status status = checkOutputFiles({{"-o", options.outputFile}},
                                       {{"the input", options.inputFile}});
      !status)
    return status;
  auto buffer =
      llvm::MemoryBuffer::getFileOrSTDIN(options.inputFile, /*IsText=*/true);
  if (!buffer)
    return Error{options.inputFile +
                     ": cannot open: " + buffer.getError().message(),
                 {}};
  llvm::StringRef text = (*buffer)->getBuffer();
  Expected<Engine> engine = Engine::create(options.engine);
  if (!engine)
    return engine.error();
  Expected<Kernel> kernel = engine->compile(text, options.compile);
  if (!kernel)
    return kernel.error();
  Expected<run::HostCall> call = run::HostCall::create(
      *kernel, text, options.inputFile, options.arguments, options.randomSeed);
  if (!call)
    return call.error();
  run::CallMemory::Operands memory = call->prepare();
  TuningOptions tuningOptions = options.tuning;
  tuningOptions.progress = printStep;
  Expected<Tuning> tuning = engine->tune(text, memory.inputs, memory.outputs,
                                         tuningOptions, options.compile);
  if (!tuning)
    return tuning.error();
  llvm::errs() << tuning->numTried << " plans tried"
               << (tuning->isComplete ? "" : ", as long as there was time")
               << "; "
               << (tuning->timesFaster == 1
                       ? "the compiler's are the best"
                       : llvm::formatv("the best are {0:f2} times as fast as "
                                       "the compiler's",
                                       tuning->timesFaster)
                             .str())
               << "\n";
  auto file = writeFile(options.outputFile, tuning->text);
  if (!file)
    return std::move(file).error();
  (*file)->keep();
  return {};
}

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (options && options->help) {
    printHelp();
    return 0;
  }
  Status status = options ? tuneFile(*options) : options.error();
  if (status)
    return 0;
  printError("attn-tune", status.error());
  return 1;
}

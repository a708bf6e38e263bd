//===- attn-reduce.cpp - Makes IR text smaller ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's reduction passes crash on regions such as those of attention.
//
//===----------------------------------------------------------------------===//

#include "lib/Registration/Registration.h"
#include "tools/OutputFiles.h"
#include "tools/PrintError.h"
#include "tools/attn-reduce/Mutations.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"

using namespace mlir;

static llvm::cl::OptionCategory category("Options of attn-reduce");
static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional,
                                            llvm::cl::Required,
                                            llvm::cl::desc("<file.mlir>"),
                                            llvm::cl::cat(category));
static llvm::cl::opt<std::string> testProgram(
    "test", llvm::cl::Required, llvm::cl::value_desc("program"),
    llvm::cl::desc("Program that gets the name of a file, and exits "
                   "with 0 if what it looks for is there"),
    llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    outputFile("o", llvm::cl::init("-"), llvm::cl::value_desc("file"),
               llvm::cl::desc("File for the smallest text (default: stdout)"),
               llvm::cl::cat(category));

namespace {

/// Asks a program whether a module is still interesting.
class Tester {
public:
  static ::attn::Expected<Tester> create(const std::string &program) {
    llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(program);
    if (!path)
      return ::attn::Error{"--test: expected a program, got '" + program + "'",
                           {}};
    Tester tester;
    tester.program = std::move(*path);
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "attn-reduce", "mlir", tester.file))
      return ::attn::Error{"cannot write a temporary file: " + error.message(),
                           {}};
    return tester;
  }
  void removeFile() { llvm::sys::fs::remove(file); }

  ::attn::Expected<bool> isInteresting(ModuleOp module) {
    std::string text, error;
    llvm::raw_string_ostream(text) << module << "\n";
    auto written = ::attn::writeFile(file.str().str(), text);
    if (!written)
      return written.error();
    (*written)->keep();
    int status = llvm::sys::ExecuteAndWait(program, {program, file},
                                           /*Env=*/std::nullopt,
                                           /*Redirects=*/{}, 0, 0, &error);
    if (status == -1)
      return ::attn::Error{"--test: cannot execute " + program + ": " + error,
                           {}};
    return status == 0;
  }

private:
  std::string program;
  llvm::SmallString<128> file;
};

/// Leaves out of a module what the test does not need.
class Reducer {
public:
  Reducer(OwningOpRef<ModuleOp> module, Tester &tester)
      : module(std::move(module)), tester(tester) {}

  ::attn::Expected<OwningOpRef<ModuleOp>> reduce() {
    ::attn::Expected<bool> isInteresting = tester.isInteresting(*module);
    if (!isInteresting)
      return isInteresting.error();
    if (!*isInteresting)
      return ::attn::Error{
          "--test: expected the program to exit with 0 for what "
          "the input says, got another status",
          {}};
    for (bool changed = true; changed;) {
      changed = false;
      for (const mlir::attn::Mutation &mutation : mlir::attn::getMutations()) {
        ::attn::Expected<bool> any = tryEverywhere(mutation);
        if (!any)
          return any.error();
        changed |= *any;
      }
    }
    return std::move(module);
  }

private:
  /// The operations, each before those that it uses.
  static SmallVector<Operation *> list(ModuleOp module) {
    SmallVector<Operation *> ops;
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != module)
        ops.push_back(op);
    });
    std::reverse(ops.begin(), ops.end());
    return ops;
  }

  ::attn::Expected<bool> tryEverywhere(const mlir::attn::Mutation &mutation) {
    bool changed = false;
    for (size_t number = 0; number < list(*module).size(); ++number) {
      for (unsigned way = 0;; ++way) {
        SmallVector<Operation *> ops = list(*module);
        if (number >= ops.size() || way >= mutation.countWays(ops[number]))
          break;
        ::attn::Expected<bool> smaller = tryOnce(mutation, number, way);
        if (!smaller)
          return smaller.error();
        changed |= *smaller;
      }
    }
    return changed;
  }

  ::attn::Expected<bool> tryOnce(const mlir::attn::Mutation &mutation,
                                 size_t number, unsigned way) {
    OwningOpRef<ModuleOp> candidate = module->clone();
    ScopedDiagnosticHandler quiet(module->getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(mutation.apply(list(*candidate)[number], way)) ||
        failed(verify(*candidate)))
      return false;
    ::attn::Expected<bool> isInteresting = tester.isInteresting(*candidate);
    if (isInteresting && *isInteresting)
      module = std::move(candidate);
    return isInteresting;
  }

  OwningOpRef<ModuleOp> module;
  Tester &tester;
};

} // namespace

static ::attn::Status reduceFile() {
  if (::attn::Status status = ::attn::checkOutputFiles(
          {{"-o", outputFile}}, {{"the input", inputFile}});
      !status)
    return status;
  DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(inputFile.getValue(), &context);
  if (!module)
    return ::attn::Error{inputFile + ": cannot be read", {}};
  ::attn::Expected<Tester> tester = Tester::create(testProgram);
  if (!tester)
    return std::move(tester).error();
  ::attn::Expected<OwningOpRef<ModuleOp>> reduced =
      Reducer(std::move(module), *tester).reduce();
  tester->removeFile();
  if (!reduced)
    return std::move(reduced).error();
  std::string text;
  llvm::raw_string_ostream(text) << **reduced << "\n";
  auto file = ::attn::writeFile(outputFile, text);
  if (!file)
    return std::move(file).error();
  (*file)->keep();
  return {};
}

int main(int argc, char **argv) {
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Makes an MLIR file smaller, as long as a test succeeds\n");
  ::attn::Status status = reduceFile();
  if (status)
    return 0;
  ::attn::printError("attn-reduce", status.error());
  return 1;
}

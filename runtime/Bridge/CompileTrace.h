//===- CompileTrace.h - Where a compilation is ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_COMPILETRACE_H
#define ATTN_RUNTIME_BRIDGE_COMPILETRACE_H

#include "attn/error.h"
#include "runtime/Bridge/CrashGuard.h"
#include "runtime/Bridge/DiagnosticCollector.h"

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string_view>

namespace attn {

/// What a compilation works in, is doing, and where in the text, so that a
/// crash can be told like any other error.
class CompileTrace {
public:
  CompileTrace(std::string what, std::string fileName,
               const mlir::DialectRegistry &registry);

  mlir::MLIRContext *getContext() { return context.get(); }

  /// What was diagnosed, as an error that says that `what` failed.
  Error takeError(const std::string &what) {
    return diagnostics->takeError(what);
  }

  /// What was diagnosed of what did not fail.
  std::vector<Diagnostic> takeRemarks() { return diagnostics->takeRemarks(); }

  /// Parses and verifies the text of a module. Null after diagnostics, also for
  /// text that is beyond the parser's limits.
  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text);

  /// Whether `parse` refused a module that upstream's verifiers are undefined
  /// for.
  bool refusedUnverifiable() const { return isUnverifiable; }

  /// The text's names and places, after `parse`.
  const mlir::AsmParserState &getParserState() const { return parserState; }

  /// Says what comes next, as in "crashed <stage>".
  void enter(std::string stage) { this->stage = std::move(stage); }
  void enter(std::string stage, mlir::Location location);

  /// The error for `crash`, which `runGuarded` gave: what was diagnosed before,
  /// if anything was, and the crash. Leaves the context as it is, for good.
  Error describe(const std::string &crash);

private:
  void setPlace(mlir::Location location);
  void findParsed();
  void findVerified();

  const std::string what, fileName;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<DiagnosticCollector> diagnostics;
  std::string stage;
  unsigned line = 0, column = 0; ///< Where it is; 0 if that is not known.
  llvm::SourceMgr sources;
  mlir::AsmParserState parserState;
  bool isParsing = false, isUnverifiable = false;
  mlir::Operation *verified = nullptr; ///< While it is.
};

/// The result of `compile`, or an error if it crashes.
template <typename T>
Expected<T>
compileGuarded(std::string what, std::string fileName,
               const mlir::DialectRegistry &registry,
               llvm::function_ref<Expected<T>(CompileTrace &)> compile) {
  CompileTrace trace(std::move(what), std::move(fileName), registry);
  std::optional<Expected<T>> result;
  std::optional<std::string> crash =
      runGuarded([&] { result.emplace(compile(trace)); });
  if (crash)
    return trace.describe(*crash);
  return std::move(*result);
}

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_COMPILETRACE_H

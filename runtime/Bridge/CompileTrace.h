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

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <string_view>

namespace attn {

/// What a compilation is doing, and where in the text, so that a crash can be
/// told like any other error.
class CompileTrace {
public:
  explicit CompileTrace(std::string fileName) : fileName(std::move(fileName)) {}

  /// Parses and verifies the text of a module. Null after diagnostics, also for
  /// text that is beyond the parser's limits.
  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text,
                                          mlir::MLIRContext *context);

  /// The text's names and places, after `parse`.
  const mlir::AsmParserState &getParserState() const { return parserState; }

  /// Says what comes next, as in "crashed <stage>".
  void enter(std::string stage) { this->stage = std::move(stage); }
  void enter(std::string stage, mlir::Location location);

  /// The error that `what` failed because of `crash`, which `runGuarded` gave.
  Error describe(const std::string &what, const std::string &crash);

private:
  void setPlace(mlir::Location location);
  void findParsed();
  void findVerified();

  const std::string fileName;
  std::string stage;
  unsigned line = 0, column = 0; ///< Where it is; 0 if that is not known.
  llvm::SourceMgr sources;
  mlir::AsmParserState parserState;
  bool isParsing = false;
  mlir::Operation *verified = nullptr; ///< While it is.
};

/// The result of `compile`, which makes its MLIR context on the heap; or an
/// error if it crashes, after which the context is never used or freed.
template <typename T>
Expected<T>
compileGuarded(const std::string &what, const std::string &fileName,
               llvm::function_ref<Expected<T>(CompileTrace &)> compile) {
  CompileTrace trace(fileName);
  std::optional<Expected<T>> result;
  std::optional<std::string> crash =
      runGuarded([&] { result.emplace(compile(trace)); });
  if (crash)
    return trace.describe(what, *crash);
  return std::move(*result);
}

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_COMPILETRACE_H

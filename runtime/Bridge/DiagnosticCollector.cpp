//===- DiagnosticCollector.cpp - MLIR's diagnostics as the host's ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/DiagnosticCollector.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace attn;

static Diagnostic::Severity convertSeverity(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return Diagnostic::Severity::error;
  case mlir::DiagnosticSeverity::Warning:
    return Diagnostic::Severity::warning;
  case mlir::DiagnosticSeverity::Remark:
    return Diagnostic::Severity::remark;
  case mlir::DiagnosticSeverity::Note:
    return Diagnostic::Severity::note;
  }
  llvm_unreachable("unknown severity");
}

static void append(std::vector<Diagnostic> &diagnostics,
                   mlir::Diagnostic &diagnostic) {
  Diagnostic result;
  result.severity = convertSeverity(diagnostic.getSeverity());
  result.message = diagnostic.str();
  mlir::Location loc = diagnostic.getLocation();
  if (auto place = loc->findInstanceOf<mlir::FileLineColLoc>()) {
    result.file = place.getFilename().str();
    result.line = place.getLine();
    result.column = place.getColumn();
  }
  diagnostics.push_back(std::move(result));
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    append(diagnostics, note);
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        append(diagnostics, diagnostic);
        return mlir::success();
      }) {}

Error DiagnosticCollector::takeError(const std::string &what) {
  Error error{what + " failed", std::move(diagnostics)};
  for (const Diagnostic &diagnostic : error.diagnostics) {
    if (diagnostic.severity != Diagnostic::Severity::error)
      continue;
    error.message = what + ": ";
    if (diagnostic.line)
      error.message += diagnostic.file + ":" + std::to_string(diagnostic.line) +
                       ":" + std::to_string(diagnostic.column) + ": ";
    // One line for people; the rest is in the diagnostics.
    error.message +=
        diagnostic.message.substr(0, diagnostic.message.find('\n'));
    break;
  }
  return error;
}

std::vector<Diagnostic> DiagnosticCollector::takeRemarks() {
  std::vector<Diagnostic> remarks;
  for (Diagnostic &diagnostic : std::exchange(diagnostics, {}))
    if (!llvm::is_contained(remarks, diagnostic))
      remarks.push_back(std::move(diagnostic));
  return remarks;
}

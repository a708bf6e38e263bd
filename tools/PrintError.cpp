//===- PrintError.cpp - Errors on a terminal ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/PrintError.h"

#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

static const char *severityName(Diagnostic::Severity severity) {
  switch (severity) {
  case Diagnostic::Severity::error:
    return "error";
  case Diagnostic::Severity::warning:
    return "warning";
  case Diagnostic::Severity::remark:
    return "remark";
  case Diagnostic::Severity::note:
    return "note";
  }
  return "?";
}

void attn::printError(llvm::StringRef tool, const Error &error) {
  bool explained = false;
  for (const Diagnostic &diagnostic : error.diagnostics) {
    explained |= diagnostic.severity == Diagnostic::Severity::error;
    llvm::raw_ostream &os = llvm::errs();
    os << (diagnostic.file.empty() ? tool : llvm::StringRef(diagnostic.file))
       << ":";
    if (diagnostic.line)
      os << diagnostic.line << ":" << diagnostic.column << ":";
    os << " " << severityName(diagnostic.severity) << ": " << diagnostic.message
       << "\n";
  }
  if (!explained)
    llvm::WithColor::error(llvm::errs(), tool) << error.message << "\n";
}

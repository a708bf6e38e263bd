//===- PrintError.cpp - Diagnostics on a terminal -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/PrintError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

void attn::printDiagnostics(llvm::StringRef tool,
                            llvm::ArrayRef<Diagnostic> diagnostics) {
  for (Diagnostic diagnostic : diagnostics) {
    if (diagnostic.file.empty())
      diagnostic.file = tool.str();
    llvm::errs() << formatDiagnostic(diagnostic) << "\n";
  }
}

void attn::printError(llvm::StringRef tool, const Error &error) {
  printDiagnostics(tool, error.diagnostics);
  if (llvm::none_of(error.diagnostics, [](const Diagnostic &diagnostic) {
        return diagnostic.severity == Diagnostic::Severity::error;
      }))
    llvm::WithColor::error(llvm::errs(), tool) << error.message << "\n";
}

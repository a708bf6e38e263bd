//===- PrintError.h - Errors on a terminal ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_PRINTERROR_H
#define ATTN_TOOLS_PRINTERROR_H

#include "attn/error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace attn {

/// Prints on stderr, a line each; `tool` stands where no file is known.
void printDiagnostics(llvm::StringRef tool,
                      llvm::ArrayRef<Diagnostic> diagnostics);

/// Prints on stderr why `tool` failed: the compiler's diagnostics, or, if none
/// of them is an error, the message.
void printError(llvm::StringRef tool, const Error &error);

} // namespace attn

#endif // ATTN_TOOLS_PRINTERROR_H

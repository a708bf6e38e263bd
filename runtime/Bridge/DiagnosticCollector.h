//===- DiagnosticCollector.h - MLIR's diagnostics as the host's -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_DIAGNOSTICCOLLECTOR_H
#define ATTN_RUNTIME_BRIDGE_DIAGNOSTICCOLLECTOR_H

#include "attn/error.h"

#include "mlir/IR/Diagnostics.h"

namespace attn {

/// Collects what is emitted in an MLIR context while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// The collected diagnostics as an Error that says that `what` failed.
  Error takeError(const std::string &what);

  /// The collected diagnostics, each once: what several forms of a kernel have
  /// in common is diagnosed in all of them.
  std::vector<Diagnostic> takeRemarks();

private:
  std::vector<Diagnostic> diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_DIAGNOSTICCOLLECTOR_H

//===- attn-lsp-server.cpp - Language server for IR text --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Registration/Registration.h"
#include "tools/attn-lsp-server/HoverDocs.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  // Until the process exits, which --help does on its own.
  static attn::lsp::HoverDocs docs;
  bool hasFailed = failed(mlir::MlirLspServerMain(argc, argv, registry));
  llvm::outs().flush();
  return hasFailed ? EXIT_FAILURE : EXIT_SUCCESS;
}

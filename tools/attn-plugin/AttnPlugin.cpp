//===- AttnPlugin.cpp - Attn for a stock mlir-opt ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded with
//   mlir-opt --load-dialect-plugin=AttnPlugin.so
//   --load-pass-plugin=AttnPlugin.so
//
//===----------------------------------------------------------------------===//

#include "lib/Registration/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Attn", ATTN_VERSION,
          [](mlir::DialectRegistry *registry) {
            mlir::attn::registerKernelDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Attn", ATTN_VERSION,
          [] { mlir::attn::registerPasses(); }};
}

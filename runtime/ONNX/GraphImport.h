//===- GraphImport.h - A model as a module ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_GRAPHIMPORT_H
#define ATTN_RUNTIME_ONNX_GRAPHIMPORT_H

#include "runtime/ONNX/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attn::onnx {

/// A module with a function of what a model computes, or of what the node of
/// that name does. Null after diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(mlir::MLIRContext *context,
                                              const Model &model,
                                              const std::string &node,
                                              const std::string &fileName);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_GRAPHIMPORT_H

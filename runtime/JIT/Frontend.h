//===- Frontend.h - Text to a kernel in MLIR --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_FRONTEND_H
#define ATTN_RUNTIME_JIT_FRONTEND_H

#include "attn/engine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attn {
class CompileTrace;
} // namespace attn

namespace attn::jit {

/// Name of the kernel's function below, whatever it is called in the text: no
/// library function has it.
inline constexpr llvm::StringLiteral kernelFunctionName = "attn_kernel";

/// Every kernel dialect, registered once.
const mlir::DialectRegistry &getKernelRegistry();

/// The same and those of kernels of GPUs, with which lowering for CPUs takes
/// longer.
const mlir::DialectRegistry &getDeviceRegistry();

/// A module with one function, `kernelFunctionName`, prepared for a lowering.
struct KernelModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Signature signature;
};

/// Parses `text` and prepares the function that `options` names.
mlir::FailureOr<KernelModule> parseKernel(std::string_view text,
                                          const CompileOptions &options,
                                          CompileTrace &trace);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_FRONTEND_H

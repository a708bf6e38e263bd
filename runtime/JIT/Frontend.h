//===- Frontend.h - Text to a kernel in MLIR --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_FRONTEND_H
#define ATTN_RUNTIME_JIT_FRONTEND_H

#include "runtime/JIT/Plans.h"

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

/// The function to compile: that of this name, or the only public one. Fails
/// with a diagnostic.
mlir::FailureOr<mlir::func::FuncOp> findEntry(mlir::ModuleOp module,
                                              const std::string &name);

/// Names of the arguments as they are written, without '%'.
std::vector<std::string> readArgumentNames(mlir::func::FuncOp entry,
                                           const mlir::AsmParserState &state);

/// Lets messages of checks in the kernel name its arguments.
void setArgumentNames(mlir::func::FuncOp entry,
                      llvm::ArrayRef<std::string> names);

/// Says in the module, by `#attn.target` of these parameters, what it is
/// compiled for, whatever its text says: kernels have to run on this machine.
void setTarget(mlir::ModuleOp module, std::string target, bool quantizeQueries);

/// A module with one function, `kernelFunctionName`, prepared for a lowering.
struct KernelModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Signature signature;
};

/// Parses `text`, says `plans` to its ops, and prepares the function that
/// `options` names.
mlir::FailureOr<KernelModule> parseKernel(std::string_view text,
                                          const CompileOptions &options,
                                          const Plans &plans,
                                          CompileTrace &trace);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_FRONTEND_H

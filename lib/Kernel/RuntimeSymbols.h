//===- RuntimeSymbols.h - What calls of the runtime need ----- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_RUNTIMESYMBOLS_H
#define ATTN_KERNEL_RUNTIMESYMBOLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn {

/// The message with the place in the source in front, "file:line:column: ...",
/// where that is known.
std::string withLocation(StringRef message, Location loc);

/// What calls of the runtime need in a module, each thing once.
class RuntimeSymbols {
public:
  explicit RuntimeSymbols(ModuleOp module) : module(module) {}

  /// The declaration of a function of the runtime.
  FailureOr<LLVM::LLVMFuncOp> getFunction(OpBuilder &builder, StringRef name,
                                          ArrayRef<Type> arguments,
                                          Type result);

  /// A zero-terminated constant string.
  LLVM::GlobalOp getMessage(StringRef text);

private:
  ModuleOp module;
  SymbolTableCollection symbols;
  llvm::StringMap<LLVM::GlobalOp> messages;
};

} // namespace mlir::attn

#endif // ATTN_KERNEL_RUNTIMESYMBOLS_H

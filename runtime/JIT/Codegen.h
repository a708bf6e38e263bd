//===- Codegen.h - LLVM dialect to machine code -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_CODEGEN_H
#define ATTN_RUNTIME_JIT_CODEGEN_H

#include "attn/engine.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"

#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace attn::jit {

/// What an object offers: `void attn_entry(void **arguments)`, where an element
/// points to a memref descriptor or to a scalar; arguments first, then results.
inline constexpr llvm::StringLiteral entryName = "attn_entry";

/// Makes `entryName`, the only function that the object will offer, of the
/// kernel function in `module`.
Status addEntry(llvm::Module &module);

/// The same of a function that takes arguments as `entryName` does.
Status setEntry(llvm::Module &module, llvm::StringRef function);

/// Adds to the module of an object what it shall offer.
using FinishModule =
    llvm::function_ref<Status(llvm::Module &, llvm::TargetMachine &)>;

/// An object file.
using Object = llvm::SmallVector<char, 0>;

/// Machine code of `module`, or another form of it, but no MLIR. Stages add
/// their time to `stats`.
Expected<Object> generateCode(mlir::ModuleOp module,
                              llvm::TargetMachine &target, CompileStats &stats,
                              FinishModule finish,
                              CodeForm form = CodeForm::Object);

/// The same in several objects that belong together, on up to `threads` threads
/// at once: the functions of a kernel, of which each of its parallel loops is
/// one, or two if it is large. Their code does not depend on the number.
/// `builder` makes targets like `target`, of which every thread needs its own.
Expected<std::vector<Object>>
generateObjects(mlir::ModuleOp module, llvm::TargetMachine &target,
                const llvm::orc::JITTargetMachineBuilder &builder,
                unsigned threads, CompileStats &stats, FinishModule finish);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_CODEGEN_H

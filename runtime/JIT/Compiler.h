//===- Compiler.h - Text to an object file ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_COMPILER_H
#define ATTN_RUNTIME_JIT_COMPILER_H

#include "attn/engine.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/DeviceKernels.h"
#include "runtime/JIT/Plans.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"

namespace llvm {
class Module;
} // namespace llvm

namespace attn::jit {

struct DeviceTarget;
struct Machine;

/// A compiled kernel before it is linked: what a cache keeps.
struct CompiledObject {
  Signature signature;
  std::vector<Object> objects;
  std::vector<DeviceModule> devices; ///< What it launches on a GPU.
  std::vector<Diagnostic> remarks;   ///< See `Kernel::remarks`.
};

/// Adds to the module of a kernel what else its object shall offer.
using FinishKernel = llvm::function_ref<Status(
    llvm::Module &, llvm::TargetMachine &, const Signature &)>;

/// Compiles `text`, with `plans` said to its ops, for `target` in `machine`, on
/// up to `codegenThreads` threads. Safe to call from several threads, which are
/// of `runOnThread`; that the compiler crashes is an error. Pipeline "gpu"
/// needs a GPU for its kernels.
Expected<CompiledObject> compileObject(
    std::string_view text, const CompileOptions &options, const Plans &plans,
    const llvm::orc::JITTargetMachineBuilder &target, const Machine &machine,
    unsigned codegenThreads, CompileStats &stats, FinishKernel finish = nullptr,
    const DeviceTarget *device = nullptr);

/// The code of `compileObject`, in a form to look at. Not of pipeline "gpu".
Expected<std::string> emitCode(std::string_view text, CodeForm form,
                               const CompileOptions &options,
                               const Plans &plans,
                               const llvm::orc::JITTargetMachineBuilder &target,
                               const Machine &machine);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_COMPILER_H

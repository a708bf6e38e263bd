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

#include <optional>
#include <variant>

namespace llvm {
class Module;
} // namespace llvm

namespace attn::jit {

struct DeviceTarget;
struct Machine;

/// What is compiled: a text, with `plans` said to its ops.
struct KernelSource {
  std::string text;
  CompileOptions options;
  Plans plans;
};

/// The numbers of queries of a batch's sequences, in an argument: where
/// each begins, and the last one ends, or they themselves.
struct SequenceLengths {
  unsigned argument;
  bool isCumulative;
};

/// The forms of a kernel for numbers of queries, of which each may be compiled
/// by itself: those for up to so many, in ascending order, and that of more and
/// of none.
struct KernelForms {
  /// The number of queries of a call, or of each of its sequences.
  std::variant<SizeExpr, SequenceLengths> length;
  std::vector<std::int64_t> most;
};

/// Which of them: its index, beyond the last one that of many; nothing for all
/// of them, in code that chooses.
using FormIndex = std::optional<unsigned>;
inline constexpr unsigned formOfMany = ~0u;

/// A compiled kernel before it is linked: what a cache keeps.
struct CompiledObject {
  Signature signature;
  std::optional<KernelForms> forms; ///< Unless this is all there is.
  std::vector<Object> objects;
  std::vector<DeviceModule> devices; ///< What it launches on a GPU.
  std::vector<Diagnostic> remarks;   ///< See `Kernel::remarks`.
};

/// Adds to the module of a kernel what else its object shall offer.
using FinishKernel = llvm::function_ref<Status(
    llvm::Module &, llvm::TargetMachine &, const Signature &)>;

/// Compiles a form of `source` for `target` in `machine`, on up to
/// `codegenThreads` threads. Safe to call from several threads, which are of
/// `runOnThread`; that the compiler crashes is an error. Pipeline "gpu" needs a
/// GPU for its kernels.
Expected<CompiledObject>
compileObject(const KernelSource &source, FormIndex form,
              const llvm::orc::JITTargetMachineBuilder &target,
              const Machine &machine, unsigned codegenThreads,
              CompileStats &stats, FinishKernel finish = nullptr,
              const DeviceTarget *device = nullptr);

/// The code of all forms, to look at. Not of pipeline "gpu".
Expected<std::string> emitCode(const KernelSource &source, CodeForm form,
                               const llvm::orc::JITTargetMachineBuilder &target,
                               const Machine &machine);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_COMPILER_H

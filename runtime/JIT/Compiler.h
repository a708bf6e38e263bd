//===- Compiler.h - Text to an object file ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_COMPILER_H
#define ATTN_RUNTIME_JIT_COMPILER_H

#include "attn/engine.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"

namespace attn::jit {

/// A compiled kernel before it is linked: what a cache keeps.
struct CompiledObject {
  Signature signature;
  llvm::SmallVector<char, 0> object;
};

/// Compiles `text` for `target`. Safe to call from several threads.
Expected<CompiledObject>
compileObject(std::string_view text, const CompileOptions &options,
              const llvm::orc::JITTargetMachineBuilder &target,
              CompileStats &stats);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_COMPILER_H

//===- Optimizer.h - LLVM IR passes for kernels -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_OPTIMIZER_H
#define ATTN_RUNTIME_BRIDGE_OPTIMIZER_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace attn {

/// Does what the code generator of `target` does not do by itself. Kernels come
/// vectorised, and unrolled where it pays; more passes, as in LLVM's own
/// pipelines, take twice as long and do not make kernels faster.
void optimize(llvm::Module &module, llvm::TargetMachine &target);

/// The same for kernels of GPUs, which are unrolled into hundreds of accesses
/// whose addresses differ by constants.
void optimizeForGPU(llvm::Module &module, llvm::TargetMachine &target);

/// Inlines what must be, which `optimize` does as well, where all of it is
/// still in one module.
void inlineRequired(llvm::Module &module, llvm::TargetMachine &target);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_OPTIMIZER_H

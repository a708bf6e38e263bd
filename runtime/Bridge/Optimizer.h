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

/// Inlines what must be, and simplifies what is not in loops more often than
/// elsewhere. Kernels come vectorised, and unrolled where it pays; more passes
/// than these and those of `optimizeLoops`, as in LLVM's own pipelines, take
/// twice as long and do not make kernels faster.
void simplify(llvm::Module &module, llvm::TargetMachine &target);

/// Does with the loops of simplified functions what the code generator of
/// `target` does not do by itself.
void optimizeLoops(llvm::Module &module, llvm::TargetMachine &target);

/// Both for kernels of GPUs, which are unrolled into hundreds of accesses whose
/// addresses differ by constants.
void optimizeForGPU(llvm::Module &module, llvm::TargetMachine &target);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_OPTIMIZER_H

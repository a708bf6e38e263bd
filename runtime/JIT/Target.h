//===- Target.h - The machine to compile for --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_TARGET_H
#define ATTN_RUNTIME_JIT_TARGET_H

#include "attn/error.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"

#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace attn::jit {

struct Machine;

/// The machine that this runs on, or, if `cpu` is not empty, the processor of
/// that name, whose code this machine can execute.
Expected<llvm::orc::JITTargetMachineBuilder>
selectTarget(const std::string &cpu);

/// The same for object files, which may run on another machine: without what a
/// process must ask the operating system for.
Expected<llvm::orc::JITTargetMachineBuilder>
selectStaticTarget(const std::string &cpu);

/// Has little time taken for code that is to be tried out: a third of what it
/// takes otherwise, for kernels of GPUs.
void generateFast(llvm::orc::JITTargetMachineBuilder &target);

/// LLVM's names of the vector extensions that `target` has.
std::vector<std::string> listNeededFeatures(const llvm::TargetMachine &target);

/// What lowerings need to know of `target` in `machine`: the parameters of
/// `#attn.target`.
std::string describeTarget(const llvm::TargetMachine &target,
                           const Machine &machine);

/// The same of "host", the machine that this runs on, or of the processor that
/// LLVM calls `name`, in a machine of which nothing is known.
Expected<std::string> describeProcessor(const std::string &name);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_TARGET_H

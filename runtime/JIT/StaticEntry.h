//===- StaticEntry.h - A kernel as a function of C --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_STATICENTRY_H
#define ATTN_RUNTIME_JIT_STATICENTRY_H

#include "attn/kernel.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace attn::jit {

/// Why there can be no function of this name in C and C++; nothing if there
/// can.
Status checkStaticName(const std::string &name);

/// Replaces what the module offers by the function `name` of C, which calls
/// `attn_rt_call_static_kernel`.
Status addStaticEntry(llvm::Module &module, const llvm::TargetMachine &target,
                      const std::string &name, const Signature &signature);

/// The header of that function. `source` says what it was compiled from.
std::string writeStaticHeader(const std::string &name,
                              const std::string &source,
                              const Signature &signature);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_STATICENTRY_H

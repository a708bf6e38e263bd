//===- PassTrace.h - Which pass runs where ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_PASSTRACE_H
#define ATTN_RUNTIME_JIT_PASSTRACE_H

#include "runtime/Bridge/CompileTrace.h"

namespace mlir {
class PassManager;
} // namespace mlir

namespace attn::jit {

/// Lets `trace` know which pass runs, on what.
void tracePasses(mlir::PassManager &pm, CompileTrace &trace);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_PASSTRACE_H

//===- LLVMErrors.h - Errors of LLVM's code generator -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_LLVMERRORS_H
#define ATTN_RUNTIME_BRIDGE_LLVMERRORS_H

#include "llvm/IR/LLVMContext.h"

#include <string>

namespace attn {

/// Appends the errors of `context` to `errors`, which outlives it. LLVM's own
/// handler prints them, and ends the process.
void collectErrors(llvm::LLVMContext &context, std::string &errors);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_LLVMERRORS_H

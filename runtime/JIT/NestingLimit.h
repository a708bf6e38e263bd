//===- NestingLimit.h - Text that the parser can take -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_NESTINGLIMIT_H
#define ATTN_RUNTIME_JIT_NESTINGLIMIT_H

#include "attn/engine.h"

#include <optional>

namespace attn::jit {

/// An error for text that is nested so deeply that MLIR's recursive parser or
/// passes could overflow the stack.
std::optional<Error> checkNesting(std::string_view text,
                                  const CompileOptions &options);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_NESTINGLIMIT_H

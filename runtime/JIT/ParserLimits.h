//===- ParserLimits.h - Text that no parser survives ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_PARSERLIMITS_H
#define ATTN_RUNTIME_JIT_PARSERLIMITS_H

#include "attn/engine.h"

#include <optional>

namespace attn::jit {

/// An error for text that MLIR's parser or passes would not survive: nested so
/// deeply that their recursion could overflow the stack, or with an attribute
/// that the parser crashes on.
std::optional<Error> checkParserLimits(std::string_view text,
                                       const CompileOptions &options);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_PARSERLIMITS_H

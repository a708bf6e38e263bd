//===- BuildId.h - Identity of this build -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_BUILDID_H
#define ATTN_RUNTIME_JIT_BUILDID_H

#include <string>

namespace attn::jit {

/// A hash of the library's own contents, which the static linker put into it.
/// Another version of the compiler, or a changed one, has another.
std::string getBuildId();

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_BUILDID_H

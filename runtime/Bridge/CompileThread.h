//===- CompileThread.h - A stack that is known ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_COMPILETHREAD_H
#define ATTN_RUNTIME_BRIDGE_COMPILETHREAD_H

#include "attn/error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace attn {

/// Runs `function` on a thread of its own and waits for it. The compiler
/// recurses, and the host's thread may have 64 KB of stack: this one has 16
/// MiB, behind which lies memory that nobody may touch, and a stack for the
/// handlers of signals. An error if the system has no thread to give.
Status runOnThread(llvm::function_ref<void()> function);

/// The same of several functions at once.
Status runOnThreads(llvm::ArrayRef<llvm::function_ref<void()>> functions);

/// The same of a function with a result.
template <typename T>
Expected<T> callOnThread(llvm::function_ref<Expected<T>()> function) {
  std::optional<Expected<T>> result;
  if (Status status = runOnThread([&] { result.emplace(function()); }); !status)
    return std::move(status).error();
  return std::move(*result);
}

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_COMPILETHREAD_H

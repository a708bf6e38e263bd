//===- MemoryCache.h - Kernels that an engine remembers ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_MEMORYCACHE_H
#define ATTN_RUNTIME_JIT_MEMORYCACHE_H

#include "runtime/JIT/KernelCode.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace attn::jit {

using CodePtr = std::shared_ptr<const detail::KernelCode>;

/// Linked kernels by key: those that somebody holds, and the last ones that
/// were asked for. Others are freed. Safe to use from several threads.
class MemoryCache {
public:
  /// What is remembered under `key`; or else what `build` gives, once for all
  /// that want it meanwhile. An error is not remembered.
  Expected<CodePtr> get(const std::string &key,
                        llvm::function_ref<Expected<CodePtr>()> build);

private:
  struct Entry {
    std::weak_ptr<const detail::KernelCode> code;
    /// Valid while somebody builds it.
    std::shared_future<Expected<CodePtr>> pending;
  };

  CodePtr remember(CodePtr code);
  void forgetFreed();

  static constexpr std::size_t numRecent = 128;

  std::mutex mutex;
  std::unordered_map<std::string, Entry> entries;
  std::size_t forgetAt = 2 * numRecent; ///< Number of entries.
  /// Different ones, the one asked for last at the end.
  std::vector<CodePtr> recent;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_MEMORYCACHE_H

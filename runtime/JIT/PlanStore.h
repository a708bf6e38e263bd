//===- PlanStore.h - Plans that were found before ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_PLANSTORE_H
#define ATTN_RUNTIME_JIT_PLANSTORE_H

#include "runtime/Bridge/FileCache.h"
#include "runtime/JIT/Plans.h"

#include <mutex>
#include <unordered_map>

namespace attn::jit {

/// Plans of tuned kernels, beside the compiled ones: in memory, and in the
/// directory of the disk cache if there is one. A file has those of one kernel,
/// each under the identity of the compiler and the processor they are of. Safe
/// to use from several threads.
class PlanStore {
public:
  /// `files` may be null, and outlives this.
  PlanStore(std::string identity, const FileCache *files)
      : identity(std::move(identity)), files(files) {}

  struct Found {
    std::optional<Plans> plans; ///< Without one, the kernel is not tuned.
    std::string remark;         ///< Why not, if that has to be said.
  };
  /// Those of the kernel `key`.
  Found find(const std::string &key);
  /// Keeps them, for this process alone.
  void remember(const std::string &key, Found found);
  /// Keeps them. False if they stay in memory, though there is a directory.
  bool store(const std::string &key, const Plans &plans);

private:
  Found load(const std::string &key) const;

  const std::string identity;
  const FileCache *const files;
  std::mutex mutex;
  std::unordered_map<std::string, Found> known;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_PLANSTORE_H

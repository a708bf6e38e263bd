//===- ObjectCache.h - Compiled kernels on disk -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_OBJECTCACHE_H
#define ATTN_RUNTIME_JIT_OBJECTCACHE_H

#include "runtime/Bridge/FileCache.h"
#include "runtime/JIT/Compiler.h"

#include <optional>

namespace attn::jit {

/// A directory of compiled kernels (see FileCache).
class ObjectCache {
public:
  /// Creates the directory if there is none. An error if it cannot be written.
  static Expected<ObjectCache> open(const std::string &directory);

  /// The kernel stored under `key`; nothing if there is none, or if its file is
  /// damaged.
  std::optional<CompiledObject> load(const std::string &key) const;

  /// Stores a kernel, whose modules for GPUs have no remark. A cache is only a
  /// help: that it fails is no error.
  void store(const std::string &key, const CompiledObject &object) const;

  /// Where they are, for what else is kept of kernels.
  const FileCache &getFiles() const { return files; }

private:
  explicit ObjectCache(FileCache files) : files(std::move(files)) {}

  FileCache files;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_OBJECTCACHE_H

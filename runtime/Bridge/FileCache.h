//===- FileCache.h - Compiled code on disk ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_FILECACHE_H
#define ATTN_RUNTIME_BRIDGE_FILECACHE_H

#include "attn/error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <initializer_list>
#include <optional>

namespace attn {

/// A key, in hexadecimal, of everything that decides what code comes out.
std::string computeKey(std::initializer_list<llvm::StringRef> parts);

/// A directory of compiled code, one file for each key. Engines and processes
/// may share it: a file appears complete or not at all, and is checked when
/// read.
class FileCache {
public:
  /// Creates the directory if there is none. An error if it cannot be written.
  static Expected<FileCache> open(const std::string &directory);

  /// The parts stored under `key`; nothing if there are none, or if their file
  /// is damaged.
  std::optional<llvm::SmallVector<std::string>>
  load(const std::string &key) const;

  /// Stores parts. A cache is only a help: that it fails is no error.
  void store(const std::string &key,
             llvm::ArrayRef<llvm::StringRef> parts) const;

private:
  explicit FileCache(std::string directory) : directory(std::move(directory)) {}
  std::string getPath(const std::string &key) const;

  std::string directory;
};

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_FILECACHE_H

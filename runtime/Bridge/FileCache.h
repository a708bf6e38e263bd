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

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace attn {

/// A key, in hexadecimal, of everything that decides what code comes out.
std::string computeKey(std::initializer_list<llvm::StringRef> parts);

/// A directory of compiled code, one file for each key. Engines and processes
/// of one user may share it: a file appears complete or not at all, and is
/// checked when read.
///
/// What is in it is executed, and a hash only finds damage. So nobody else may
/// be able to write it: the directory and its files belong to the effective
/// user, and neither group nor others may write them. The directory is held
/// open, so that nobody can put another in its place. Its parents are not
/// looked at: whoever may write one can only bring in a directory that passes
/// the same check.
class FileCache {
public:
  /// Creates the directory if there is none, for this user only. An error if it
  /// cannot be written, or if somebody else can write it.
  static Expected<FileCache> open(const std::string &directory);

  FileCache(FileCache &&other) noexcept
      : directory(std::exchange(other.directory, -1)) {}
  FileCache &operator=(FileCache &&other) noexcept {
    std::swap(directory, other.directory);
    return *this;
  }
  ~FileCache();

  /// The parts stored under `key`; nothing if there are none, or if what is
  /// there is damaged, is no file of at most `maximumFileSize`, or can be
  /// written by somebody else.
  std::optional<llvm::SmallVector<std::string>>
  load(const std::string &key) const;

  /// Stores parts, in place of what is there. A cache is only a help: that it
  /// fails, or that there is too much, is no error, but false.
  bool store(const std::string &key,
             llvm::ArrayRef<llvm::StringRef> parts) const;

  /// Whether there is a file of `key`, be it one that can be loaded or not.
  bool contains(const std::string &key) const;

  /// In bytes.
  static constexpr std::size_t maximumFileSize = std::size_t(1) << 28;

private:
  explicit FileCache(int directory) : directory(directory) {}
  std::error_code writeAtomically(const std::string &name,
                                  llvm::ArrayRef<llvm::StringRef> parts) const;

  int directory; ///< Its descriptor.
};

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_FILECACHE_H

//===- FileCache.cpp - Compiled code on disk ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/FileCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using llvm::StringRef;

// A file holds the magic, the hash of its key and of all that follows, and the
// parts, each after its length in 8 bytes (little-endian).
static constexpr llvm::StringLiteral magic = "ATTNOBJ3";
static constexpr std::size_t hashBytes = 32;

static std::string hash(StringRef key, StringRef contents) {
  llvm::BLAKE3 hasher;
  hasher.update(key);
  hasher.update(contents);
  return llvm::toStringRef(hasher.final<hashBytes>()).str();
}

std::string attn::computeKey(std::initializer_list<StringRef> parts) {
  llvm::BLAKE3 hasher;
  for (StringRef part : parts) {
    hasher.update(std::to_string(part.size()) + ":");
    hasher.update(part);
  }
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

/// Writes a file of its own beside `path`, and then moves it there, so that a
/// reader never sees half of it.
static std::error_code writeAtomically(const std::string &path,
                                       llvm::ArrayRef<StringRef> parts) {
  int descriptor;
  llvm::SmallString<256> temporary;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(
          path + ".%%%%%%%%", descriptor, temporary))
    return error;
  llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
  for (StringRef part : parts)
    file << part;
  file.close();
  std::error_code error = file.error();
  file.clear_error(); // Or the destructor ends the process.
  if (!error)
    error = llvm::sys::fs::rename(temporary, path);
  if (error)
    (void)llvm::sys::fs::remove(temporary);
  return error;
}

Expected<FileCache> FileCache::open(const std::string &directory) {
  auto fail = [&](std::error_code error) {
    return Error{"cannot use cache directory '" + directory +
                     "': " + error.message(),
                 {}};
  };
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return fail(error);
  FileCache cache(directory);
  std::string probe = cache.getPath("probe");
  if (std::error_code error = writeAtomically(probe, magic))
    return fail(error);
  (void)llvm::sys::fs::remove(probe);
  return cache;
}

std::string FileCache::getPath(const std::string &key) const {
  llvm::SmallString<256> path(directory);
  llvm::sys::path::append(path, key + ".attnobj");
  return path.str().str();
}

std::optional<llvm::SmallVector<std::string>>
FileCache::load(const std::string &key) const {
  // Volatile: read, not mapped, so that nobody can change it under our hands.
  auto file = llvm::MemoryBuffer::getFile(getPath(key), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false,
                                          /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  StringRef contents = (*file)->getBuffer();
  if (!contents.consume_front(magic) || contents.size() < hashBytes)
    return std::nullopt;
  StringRef expected = contents.take_front(hashBytes);
  contents = contents.drop_front(hashBytes);
  if (expected != hash(key, contents))
    return std::nullopt;
  llvm::SmallVector<std::string> parts;
  while (!contents.empty()) {
    if (contents.size() < 8)
      return std::nullopt;
    std::uint64_t length = llvm::support::endian::read64le(contents.data());
    contents = contents.drop_front(8);
    if (length > contents.size())
      return std::nullopt;
    parts.push_back(contents.take_front(length).str());
    contents = contents.drop_front(length);
  }
  return parts;
}

void FileCache::store(const std::string &key,
                      llvm::ArrayRef<StringRef> parts) const {
  std::string payload;
  for (StringRef part : parts) {
    char length[8];
    llvm::support::endian::write64le(length, part.size());
    payload.append(length, sizeof(length));
    payload += part;
  }
  (void)writeAtomically(getPath(key), {magic, hash(key, payload), payload});
}

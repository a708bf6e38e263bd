//===- FileCache.cpp - Compiled code on disk ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/FileCache.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

static std::error_code getLastError() {
  return {errno, std::generic_category()};
}

static std::string getFileName(const std::string &key) {
  return key + ".attnobj";
}

/// Whether group or others may write. With an access control list, what the
/// group may do is what anybody in the list may.
static bool isShared(const struct stat &status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/// Writes a file of its own beside that one, and then moves it there, so that a
/// reader never sees half of it.
std::error_code
FileCache::writeAtomically(const std::string &name,
                           llvm::ArrayRef<StringRef> parts) const {
  llvm::SmallString<128> temporary;
  llvm::sys::fs::createUniquePath(name + ".%%%%%%%%%%%%%%%%", temporary,
                                  /*MakeAbsolute=*/false);
  int descriptor =
      ::openat(directory, temporary.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0)
    return getLastError();
  llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
  for (StringRef part : parts)
    file << part;
  file.close();
  std::error_code error = file.error();
  file.clear_error(); // Or the destructor ends the process.
  if (!error &&
      ::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
    error = getLastError();
  if (error)
    (void)::unlinkat(directory, temporary.c_str(), 0);
  return error;
}

/// In the octal digits that `chmod` takes.
static std::string describeMode(const struct stat &status) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("mode 0%o", unsigned(status.st_mode) & 07777);
  return text;
}

/// What makes an open directory one that others can write; empty if nothing
/// does.
static std::string findForeignWriter(const struct stat &status) {
  if (status.st_uid != ::geteuid())
    return "expected a directory of this process's user " +
           std::to_string(::geteuid()) + ", got one of user " +
           std::to_string(status.st_uid);
  if (isShared(status))
    return "expected a directory that only its user may write, got " +
           describeMode(status);
  return {};
}

Expected<FileCache> FileCache::open(const std::string &directory) {
  auto fail = [&](const std::string &why) {
    return Error{"cannot use cache directory '" + directory + "': " + why, {}};
  };
  if (std::error_code error = llvm::sys::fs::create_directories(
          directory, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all))
    return fail(error.message());
  FileCache cache(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (cache.directory < 0 || ::fstat(cache.directory, &status) != 0)
    return fail(getLastError().message());
  if (std::string why = findForeignWriter(status); !why.empty())
    return fail(why);
  std::string probe = getFileName("probe");
  if (std::error_code error = cache.writeAtomically(probe, magic))
    return fail(error.message());
  (void)::unlinkat(cache.directory, probe.c_str(), 0);
  return cache;
}

FileCache::~FileCache() {
  if (directory >= 0)
    (void)::close(directory);
}

/// Reads a file that nobody else can have written; null if it is not one.
static std::unique_ptr<llvm::MemoryBuffer>
readOwnFile(int directory, const std::string &name) {
  // What is no regular file must not make the open wait.
  int descriptor = ::openat(directory, name.c_str(),
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return nullptr;
  llvm::scope_exit close([descriptor] { (void)::close(descriptor); });
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || isShared(status) ||
      std::size_t(status.st_size) > FileCache::maximumFileSize)
    return nullptr;
  // Volatile: read, not mapped, so that nobody can change it under our hands.
  auto file = llvm::MemoryBuffer::getOpenFile(
      llvm::sys::fs::convertFDToNativeFile(descriptor), name,
      std::uint64_t(status.st_size), /*RequiresNullTerminator=*/false,
      /*IsVolatile=*/true);
  return file ? std::move(*file) : nullptr;
}

std::optional<llvm::SmallVector<std::string>>
FileCache::load(const std::string &key) const {
  std::unique_ptr<llvm::MemoryBuffer> file =
      readOwnFile(directory, getFileName(key));
  if (!file)
    return std::nullopt;
  StringRef contents = file->getBuffer();
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

bool FileCache::contains(const std::string &key) const {
  return ::faccessat(directory, getFileName(key).c_str(), F_OK,
                     AT_SYMLINK_NOFOLLOW) == 0;
}

bool FileCache::store(const std::string &key,
                      llvm::ArrayRef<StringRef> parts) const {
  std::string payload;
  for (StringRef part : parts) {
    char length[8];
    llvm::support::endian::write64le(length, part.size());
    payload.append(length, sizeof(length));
    payload += part;
  }
  if (magic.size() + hashBytes + payload.size() > maximumFileSize)
    return false; // It would not be read.
  return !writeAtomically(getFileName(key),
                          {magic, hash(key, payload), payload});
}

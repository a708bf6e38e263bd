//===- NpyFiles.cpp - Reading and writing .npy files ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy/Npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

using namespace attn;

namespace {
struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;
} // namespace

static Error fileError(const std::string &path, std::string_view what) {
  return {path + ": " + std::string(what), {}};
}

Expected<NpyArray> attn::readNpy(const std::string &path) {
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(path, code);
  if (code)
    return fileError(path, "cannot open: " + code.message());
  if (!std::filesystem::is_regular_file(status))
    return fileError(path, "not a regular file");
  File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return fileError(path, "cannot open: " + std::string(std::strerror(errno)));

  std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code)
    return fileError(path, "cannot read: " + code.message());
  std::unique_ptr<std::byte[]> bytes(new (std::nothrow)
                                         std::byte[std::size_t(size)]);
  if (!bytes)
    return fileError(path,
                     "cannot allocate " + std::to_string(size) + " bytes");
  std::size_t got = std::fread(bytes.get(), 1, std::size_t(size), file.get());
  if (std::ferror(file.get()))
    return fileError(path, "cannot read: " + std::string(std::strerror(errno)));
  Expected<NpyArray> array = parseNpy(std::span(bytes.get(), got));
  if (!array)
    return fileError(path, array.error().message);
  return array;
}

/// Creates a file that did not exist, beside `path`.
static File createTemporary(const std::string &path, std::string &temporary) {
  File file;
  for (int i = 0; i < 100 && !file; ++i) {
    temporary = path + ".tmp" + std::to_string(i);
    file.reset(std::fopen(temporary.c_str(), "wbx"));
    if (!file && errno != EEXIST)
      break;
  }
  return file;
}

Status attn::writeNpy(const std::string &path, const TensorView &view) {
  Expected<std::vector<std::byte>> bytes = serializeNpy(view);
  if (!bytes)
    return fileError(path, bytes.error().message);

  // Follow links: renaming onto one would replace it.
  std::error_code code;
  std::string target = std::filesystem::weakly_canonical(path, code).string();
  if (code)
    return fileError(path, "cannot write: " + code.message());
  if (std::filesystem::exists(target, code) &&
      !std::filesystem::is_regular_file(target, code))
    return fileError(path, "cannot write: not a regular file");

  std::string temporary;
  File file = createTemporary(target, temporary);
  if (!file)
    return fileError(path,
                     "cannot write: " + std::string(std::strerror(errno)));
  bool written =
      std::fwrite(bytes->data(), 1, bytes->size(), file.get()) == bytes->size();
  // Both calls, because the last bytes may only fail to reach the disk here.
  written = std::fclose(file.release()) == 0 && written;
  if (written)
    std::filesystem::rename(temporary, target, code);
  else
    code = std::make_error_code(std::errc::io_error);
  if (!code)
    return {};
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return fileError(path, "cannot write: " + code.message());
}

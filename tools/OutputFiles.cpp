//===- OutputFiles.cpp - Files that a tool may write ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/OutputFiles.h"

#include "llvm/Support/FileSystem.h"

#include <filesystem>

using namespace attn;

/// Where writing to `path` creates a file. `weakly_canonical` alone keeps the
/// name of a link to a file that is not there.
static std::filesystem::path resolveNew(std::filesystem::path path) {
  std::error_code error;
  constexpr int kMostLinks = 40; // As Linux follows.
  for (int i = 0; i < kMostLinks; ++i) {
    std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error)
      break;
    path = path.parent_path() / target; // `target`, where it is absolute.
  }
  return std::filesystem::weakly_canonical(
      std::filesystem::absolute(path, error), error);
}

/// Whether both are one file, which may not be there yet. Of devices nothing is
/// lost.
static bool areSame(const std::string &a, const std::string &b) {
  for (const std::string &path : {a, b})
    if (path.empty() || path == "-" ||
        (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path)))
      return false;
  if (llvm::sys::fs::equivalent(a, b))
    return true;
  return resolveNew(a) == resolveNew(b);
}

static Status checkFile(const NamedFile &output,
                        llvm::ArrayRef<NamedFile> others) {
  for (const NamedFile &other : others)
    if (areSame(output.path, other.path))
      return Error{(output.what + ": expected another file than that of " +
                    other.what + ", got '" + output.path + "'")
                       .str(),
                   {}};
  return {};
}

Status attn::checkOutputFiles(llvm::ArrayRef<NamedFile> outputs,
                              llvm::ArrayRef<NamedFile> inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (Status status = checkFile(outputs[i], inputs); !status)
      return status;
    if (Status status = checkFile(outputs[i], outputs.take_front(i)); !status)
      return status;
  }
  return {};
}

Expected<std::unique_ptr<llvm::ToolOutputFile>>
attn::writeFile(const std::string &path, llvm::StringRef contents) {
  std::error_code error;
  auto file = std::make_unique<llvm::ToolOutputFile>(path, error,
                                                     llvm::sys::fs::OF_None);
  if (!error) {
    file->os() << contents;
    file->os().flush();
    error = file->os().error();
    file->os().clear_error(); // Or the destructor ends the process.
  }
  if (error)
    return Error{path + ": cannot write: " + error.message(), {}};
  return file;
}

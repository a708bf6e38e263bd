//===- OutputFiles.h - Files that a tool may write --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_OUTPUTFILES_H
#define ATTN_TOOLS_OUTPUTFILES_H

#include "attn/error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ToolOutputFile.h"

#include <memory>
#include <string>

namespace attn {

/// A file that the user named.
struct NamedFile {
  llvm::StringRef what; ///< "the input", or the option that names it.
  std::string path;
};

/// An error if one of `outputs` is also one of the `inputs`, or another output,
/// by whatever name. It would be lost. A path that is empty or "-" is none.
Status checkOutputFiles(llvm::ArrayRef<NamedFile> outputs,
                        llvm::ArrayRef<NamedFile> inputs);

/// A file with these contents that goes again unless it is kept; stdout, if the
/// path is "-".
Expected<std::unique_ptr<llvm::ToolOutputFile>>
writeFile(const std::string &path, llvm::StringRef contents);

} // namespace attn

#endif // ATTN_TOOLS_OUTPUTFILES_H

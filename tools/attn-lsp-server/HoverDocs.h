//===- HoverDocs.h - Documentation where an op is hovered over --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNLSPSERVER_HOVERDOCS_H
#define ATTN_TOOLS_ATTNLSPSERVER_HOVERDOCS_H

#include <thread>

namespace attn::lsp {

/// While it lives, what the process writes to stdout are messages of the
/// language server protocol, of which those that say what an op of attn is get
/// the op's documentation. Upstream's server has none: descriptions of ops are
/// not in the program.
class HoverDocs {
public:
  HoverDocs();
  /// All that was written has to be flushed before.
  ~HoverDocs();
  HoverDocs(const HoverDocs &) = delete;
  HoverDocs &operator=(const HoverDocs &) = delete;

private:
  /// Where stdout was; -1 if it stays as it is, because there is no pipe to
  /// have.
  int stdoutCopy = -1;
  std::thread thread;
};

} // namespace attn::lsp

#endif // ATTN_TOOLS_ATTNLSPSERVER_HOVERDOCS_H

//===- BuildId.h - Identity of this build -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_BUILDID_H
#define ATTN_RUNTIME_BRIDGE_BUILDID_H

#include <string>

namespace attn {

/// Names the compiler, and the LLVM that it uses, for keys of what they made.
/// Another version of either, or a changed one, has another name.
std::string identifyBuild();

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_BUILDID_H

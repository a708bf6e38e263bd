//===- CutFunctions.h - Large functions in two ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_CUTFUNCTIONS_H
#define ATTN_RUNTIME_BRIDGE_CUTFUNCTIONS_H

namespace llvm {
class Module;
} // namespace llvm

namespace attn {

/// Makes about half of each large function of `module` a function of its own,
/// which is called once in an iteration of the loop that most of it is in. Two
/// threads can generate their code at the same time; and for one, it is less
/// work, because some of it grows faster than functions do. Functions that use
/// tiles of AMX are left as they are.
void cutFunctions(llvm::Module &module);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_CUTFUNCTIONS_H

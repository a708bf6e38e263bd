//===- object.h - Compiles kernels ahead of time ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_OBJECT_H
#define ATTN_OBJECT_H

#include "attn/error.h"
#include "attn/export.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct ObjectOptions {
  /// Name of the function in C. Empty: that of the function in the text.
  std::string name;
  /// The processor to compile for, by LLVM's name for it, such as "znver4" or
  /// "x86-64-v3". Empty: this machine.
  std::string cpu;
  /// As in CompileOptions.
  std::string entry;
  std::string pipeline = "cpu";
  bool quantizeQueries = false;
  std::string fileName = "<string>";
};

/// A kernel for programs without a compiler.
struct ObjectFile {
  /// A relocatable object file of position-independent code.
  std::string object;
  /// A header for C and C++ with the function's prototype.
  std::string header;
  /// As `Kernel::remarks`.
  std::vector<Diagnostic> remarks;
};

/// Compiles one function of `text` into a function that C can call. It checks
/// its arguments as `Kernel::run` does. Programs link the object, attn-runtime
/// and the C library's m; the result is the same for equal text and options.
ATTN_EXPORT Expected<ObjectFile>
compileToObject(std::string_view text, const ObjectOptions &options = {});

} // namespace attn

#endif // ATTN_OBJECT_H

//===- MessageForC.h - Messages that C programs free ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_MESSAGEFORC_H
#define ATTN_RUNTIME_SUPPORT_MESSAGEFORC_H

#include <cstring>
#include <string>

namespace attn::support {

/// A copy that `attn_free` frees.
inline char *copyForC(const std::string &text) {
  char *result = new char[text.size() + 1];
  std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}

inline char *failNull(const char *argument) {
  return copyForC(std::string(argument) + ": expected a pointer, got NULL");
}

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_MESSAGEFORC_H

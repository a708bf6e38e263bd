//===- LaunchSizes.h - Sizes that generated code launches with --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_LAUNCHSIZES_H
#define ATTN_RUNTIME_JIT_LAUNCHSIZES_H

#include <algorithm>
#include <cstdint>
#include <limits>

namespace attn::jit {

/// A size of a grid or a block that generated code has computed. What does not
/// fit becomes one that no launch can have.
inline unsigned toLaunchSize(std::int64_t size) {
  return unsigned(
      std::clamp<std::int64_t>(size, 0, std::numeric_limits<unsigned>::max()));
}

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_LAUNCHSIZES_H

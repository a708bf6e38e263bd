//===- StreamLoops.h - Reading two streams -------------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_STREAMLOOPS_H
#define ATTN_TOOLS_ATTN_BENCH_STREAMLOOPS_H

#include <cstddef>
#include <cstdint>

namespace attn::bench {

/// A loop that reads two streams side by side, as decoding reads keys and
/// values, and does nothing with them but add.
struct StreamLoop {
  const char *name;
  /// Gives a number that depends on everything read: `bytes` of each stream, a
  /// multiple of `streamStep`.
  std::uint64_t (*run)(const std::byte *first, const std::byte *second,
                       std::size_t bytes);
};

constexpr std::size_t streamStep = 256;

/// The loop with the widest vectors that this machine has. Whatever the
/// compiler of this file was told about a machine does not matter.
StreamLoop getStreamLoop();

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_STREAMLOOPS_H

//===- ParallelFor.h - Parallel loops of generated code ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_PARALLELFOR_H
#define ATTN_RUNTIME_SUPPORT_PARALLELFOR_H

#include "attn/export.h"
#include "attn/parallel_for.h"

#include <cstdint>

namespace attn::support {

/// The threads that calls run on.
struct Threads {
  /// At most so many work on a call, the calling one included.
  int count = 1;
  /// The host's; empty: the default pool.
  ParallelFor host;
};

} // namespace attn::support

// What generated code calls, and only within `runGuarded`.
extern "C" {
/// Calls `body(context, begin, end)` for ranges that cover [0, count), each
/// index once, on the threads of the call; within another parallel loop, on the
/// calling thread. If a range fails, none after it starts any more, and the
/// call ends with the message of the first range that failed, first by index.
ATTN_EXPORT void attn_rt_parallel_for(void (*body)(void *context,
                                                   std::int64_t begin,
                                                   std::int64_t end),
                                      void *context, std::int64_t count);
}

#endif // ATTN_RUNTIME_SUPPORT_PARALLELFOR_H

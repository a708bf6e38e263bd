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

class ParallelLoop;

/// What a thread is at in a parallel loop: indices [begin, end). Generated code
/// reads these two; the rest is the runtime's.
struct ParallelRange {
  std::int64_t begin;
  std::int64_t end;
  ParallelLoop *loop = nullptr; ///< Null: this range is the whole loop.
  int task = 0;                 ///< Whose share comes first.
  int numSharesDone = 0;        ///< Shares of which no index is left.
};

/// The threads that calls run on.
struct Threads {
  /// At most so many work on a call, the calling one included.
  int count = 1;
  /// The host's; empty: the default pool.
  ParallelFor host;
};

} // namespace attn::support

// What generated code calls, and only within `runGuarded`. Objects that were
// compiled ahead of time call it too: what they must not be linked with any
// more gets another name.
extern "C" {
/// Calls `body(context, range)` once on each thread of the call that finds
/// work; within another parallel loop, on the calling thread. A body runs the
/// indices of its range, asks for the next one, and returns when there is none.
/// All ranges together cover [0, count), each index once. If a range fails,
/// none after it starts any more, what is before it is run by further calls of
/// `body`, and the call ends with the message of the first range that failed,
/// first by index.
ATTN_EXPORT void attn_rt_parallel_ranges(
    void (*body)(void *context, attn::support::ParallelRange *range),
    void *context, std::int64_t count);
/// The range with the next indices for this thread in it; null if none are
/// left.
ATTN_EXPORT attn::support::ParallelRange *
attn_rt_next_range(attn::support::ParallelRange *range);
}

#endif // ATTN_RUNTIME_SUPPORT_PARALLELFOR_H

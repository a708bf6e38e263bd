//===- parallel_for.h - A host's own threads --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PARALLEL_FOR_H
#define ATTN_PARALLEL_FOR_H

#include <functional>

namespace attn {

/// How kernels use a host's threads: calls `task(0)`, ..., `task(count - 1)`,
/// each once, at the same time as far as it can, and returns when all have
/// returned. With a pool of the host's:
///
///     options.parallelFor = [&pool](int count, const ParallelTask &task) {
///       pool.forEach(count, task);
///     };
///
/// Tasks may run in any order and on any thread, also the calling one. They
/// share the work of a loop as it comes, so that a task that starts late finds
/// less of it. Neither throws.
using ParallelTask = std::function<void(int)>;
using ParallelFor = std::function<void(int count, const ParallelTask &task)>;

} // namespace attn

#endif // ATTN_PARALLEL_FOR_H

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
/// Tasks may run in any order and on any thread, also the calling one. Each has
/// its own part of a loop, best on the same thread every time, and then helps
/// the others, so that one may start late. They do not throw. Where the pool
/// does, the call ends with an error that has the exception's text, after the
/// tasks that run have returned. The pool may hold others then, by copies of
/// `task` or by reference to it: from now on they do nothing, and stay valid
/// for as long as the process lives.
using ParallelTask = std::function<void(int)>;
using ParallelFor = std::function<void(int count, const ParallelTask &task)>;

} // namespace attn

#endif // ATTN_PARALLEL_FOR_H

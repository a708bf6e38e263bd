//===- HostPool.h - Threads that a host brings ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_HOSTPOOL_H
#define ATTN_RUNTIME_SUPPORT_HOSTPOOL_H

#include "attn/parallel_for.h"
#include "attn/parallel_for_c.h"

namespace attn::support {

/// Calls `task(context, i)`, for each i less than `count`, on a host's pool.
/// Null if it did; the reason if the pool threw: then some tasks may not have
/// been called. After it has returned, none is running or will be.
const char *runOnHostPool(const ParallelFor &pool, int count,
                          void (*task)(void *, int), void *context);

/// A host's pool that is said in C; empty if it is null.
ParallelFor convertParallelFor(attn_parallel_for pool, void *context);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_HOSTPOOL_H

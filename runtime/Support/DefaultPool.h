//===- DefaultPool.h - Threads for hosts that bring none --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_DEFAULTPOOL_H
#define ATTN_RUNTIME_SUPPORT_DEFAULTPOOL_H

namespace attn::support {

/// Calls `task(context, 0)` on this thread and `task(context, i)`, with other i
/// less than `count`, on up to `count - 1` others, each once, and returns when
/// all have returned. May run fewer of them when there are not so many threads.
void runOnDefaultPool(int count, void (*task)(void *, int), void *context);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_DEFAULTPOOL_H

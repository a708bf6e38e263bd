/*===- parallel_for_c.h - A host's own threads, from C ------------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_PARALLEL_FOR_C_H
#define ATTN_PARALLEL_FOR_C_H

/** Calls `task(task_context, 0)` to `task(task_context, count - 1)`, each once,
    in any order and on any threads, and returns when all have returned. Must
    return, but may throw where it is C++; see attn/parallel_for.h. */
typedef void (*attn_parallel_for)(void *context, int count,
                                  void (*task)(void *task_context, int index),
                                  void *task_context);

#endif /* ATTN_PARALLEL_FOR_C_H */

/*===- static_kernel.h - Kernels compiled ahead of time -----------*- C -*-===*\
|*                                                                            *|
|* Part of the Attn project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What the headers that attn-compile writes have in common. Programs link    *|
|* the kernel's object file and attn-runtime, and neither MLIR nor LLVM.      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_STATIC_KERNEL_H
#define ATTN_STATIC_KERNEL_H

#include "attn/export.h"
#include "attn/parallel_for_c.h"
#include "attn/tensor_c.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Threads that work on one call of a kernel, the calling one included, from
 * now on. 0, which is the default: as many as there are processors. Results do
 * not depend on it. May be called at any time from any thread. */
ATTN_EXPORT void attn_set_threads(unsigned count);

/** The host's own threads, which calls of kernels use from now on, as many at a
 * time as attn_set_threads says. NULL, which is the default: a pool that the
 * process has. May be called at any time from any thread; calls that run keep
 * to the function and the context that they started with. */
ATTN_EXPORT void attn_set_parallel_for(attn_parallel_for pool, void *context);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_STATIC_KERNEL_H */

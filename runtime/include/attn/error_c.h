/*===- error_c.h - Errors in C ------------------------------------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Functions that can fail return NULL if they did not, or else a message, which
|* is the caller's to free with attn_free. It names the argument at fault, what
|* was expected and what came.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_ERROR_C_H
#define ATTN_ERROR_C_H

#include "attn/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Frees a message or a text. NULL is fine. */
ATTN_EXPORT void attn_free(char *text);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_ERROR_C_H */

/*===- object_c.h - Compiles kernels ahead of time, from C --------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What attn/object.h says in C++; errors are as attn/attn_c.h says.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_OBJECT_C_H
#define ATTN_OBJECT_C_H

#include "attn/error_c.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** All zero: the defaults. */
typedef struct attn_object_options {
  const char *name;     /**< Of the function in C; NULL: that in the text. */
  const char *cpu;      /**< LLVM's name of a processor; NULL: this one. */
  const char *entry;    /**< Function to compile; NULL: the only public one. */
  const char *pipeline; /**< "cpu" or "reference"; NULL: "cpu". */
  /** Multiply keys in caches of i8 as integers; see CompileOptions in
      attn/engine.h. */
  bool quantize_queries;
  const char *file_name; /**< Of the text, in messages; NULL: "<string>". */
} attn_object_options;

/** Compiles one function of a text of IR into the `*object_size` bytes of an
    object file, and the text of a C header. The caller frees both with
    attn_free. On failure they are NULL. `options` may be NULL. */
ATTN_EXPORT char *attn_compile_to_object(const char *text,
                                         const attn_object_options *options,
                                         char **object, size_t *object_size,
                                         char **header);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_OBJECT_C_H */

/*===- blocks_c.h - The blocks that a kernel computes, from C -----*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What attn/blocks.h says in C++; errors are as attn/attn_c.h says.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_BLOCKS_C_H
#define ATTN_BLOCKS_C_H

#include "attn/error_c.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What to show, and for which sizes; NULL: that of the text, or one batch
    entry. All zero: the defaults. */
typedef struct attn_block_options {
  const int64_t *batch; /**< Batch entries, or packed sequences. */
  const int64_t *query_length;
  const int64_t *key_length;
  const int64_t *offset; /**< Position of the first query. */
  bool svg;              /**< A picture, rather than lines of characters. */
  const char *entry;     /**< Function to show; NULL: the only public one. */
  const char *file_name; /**< Of the text, in messages; NULL: "<string>". */
  const char *cpu;       /**< LLVM's name of a processor; NULL: this one. */
} attn_block_options;

/** Which blocks of queries and keys a kernel of the "cpu" pipeline skips,
    computes with the mask, and computes without it. The caller frees `*shown`
    with attn_free. `options` may be NULL. */
ATTN_EXPORT char *attn_show_blocks(const char *text,
                                   const attn_block_options *options,
                                   char **shown);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_BLOCKS_C_H */

/*===- cached_attention_c.h - Attention on a cache, in C ----------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What attn/cached_attention.h says in C++, with the arguments that it lists.
|* Errors are as attn/attn_c.h says, and name members as in C++.
|*
|*     const attn_cached_attention step = {
|*         .attention = {.type = ATTN_F32, .query_heads = 32, ...,
|*                       .clauses = "mask causal"},
|*         .cache = {.type = ATTN_F32, .page_size = 16}};
|*     char *text, *error = attn_cached_attention_text(&step, &text);
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_CACHED_ATTENTION_C_H
#define ATTN_CACHED_ATTENTION_C_H

#include "attn/attn_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Caches to which keys and values are appended. */
typedef struct attn_layer_cache {
  attn_element_type type; /**< A float, of 8 bits too, or i8 with a
                                  scale for each row. */
  bool is_ring;           /**< Row p mod capacity has position p. */
  /** Rows of a page, or ATTN_DYNAMIC; 0: not in pages. */
  int64_t page_size;
  bool has_counts; /**< How many tokens are new is said for each sequence. */
} attn_layer_cache;

/** A step of attention on caches. */
typedef struct attn_cached_attention {
  /** A mask has to hide the positions behind the last token of a sequence, as
      `mask causal` does where there are no counts, and otherwise
      `mask key_padding(%lengths.after : tensor<?xi64>)`, which are computed.
      One that keeps them ends in an error when they are met. */
  attn_attention attention;
  attn_layer_cache cache;
  bool is_packed; /**< Queries and new keys and values are. */
} attn_cached_attention;

/** The kernel as IR, which the caller frees with attn_free. */
ATTN_EXPORT char *attn_cached_attention_text(const attn_cached_attention *step,
                                             char **text);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_CACHED_ATTENTION_C_H */

/*===- multi_token_attention_c.h - Multi-token attention in C -----*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What attn/multi_token_attention.h says in C++, with the arguments
|* that it lists. Errors are as attn/attn_c.h says, and name members as in C++.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_MULTI_TOKEN_ATTENTION_C_H
#define ATTN_MULTI_TOKEN_ATTENTION_C_H

#include "attn/attn_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A convolution of scores, or of probabilities. */
typedef struct attn_multi_token_kernel {
  int64_t queries; /**< cq. */
  int64_t keys;    /**< ck, an odd number. */
  int64_t heads;   /**< ch; 0: each head by itself. */
} attn_multi_token_kernel;

/** A convolution, and then a mixing of heads. */
typedef struct attn_multi_token_stages {
  const attn_multi_token_kernel *kernel; /**< NULL: none. */
  int64_t mixed_heads;                   /**< ch; 0: no mixing. */
} attn_multi_token_stages;

/** Root mean square normalisation of the output of each head. */
typedef struct attn_head_norm {
  double epsilon; /**< Positive. */
  bool has_layer; /**< Scales by 1 - (0.8 - 0.6 exp(-0.3 layer)). */
  int64_t layer;
} attn_head_norm;

/** Attention whose weights depend on those of neighbouring queries, keys and
    heads. What is optional is left out by NULL, false or 0. */
typedef struct attn_multi_token_attention {
  /** Its clauses follow those of the stages. */
  attn_attention attention;
  attn_multi_token_stages before; /**< On scores, which softmax follows. */
  attn_multi_token_stages after;  /**< On probabilities. */
  attn_element_type weights;      /**< A float. */
  int64_t past; /**< First rows of the query that have no output. */
  const attn_head_norm *head_norm;
  bool has_gate;
} attn_multi_token_attention;

/** The kernel as IR, which the caller frees with attn_free. */
ATTN_EXPORT char *
attn_multi_token_attention_text(const attn_multi_token_attention *attention,
                                char **text);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_MULTI_TOKEN_ATTENTION_C_H */

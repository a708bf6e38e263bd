/*===- multi_head_attention_c.h - Layers written in C -------------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What attn/multi_head_attention.h says in C++, with the arguments
|* that it lists. Errors are as attn/attn_c.h says, and name members as in C++.
|*
|*     const attn_rotary rotary = {.size = 64};
|*     const attn_layer_cache cache = {.type = ATTN_F32};
|*     const attn_multi_head_attention layer = {
|*         .attention = {.type = ATTN_F32, .query_heads = 9, ...,
|*                       .clauses = "mask causal"},
|*         .width = 576, .output_width = 576, .weights = ATTN_BF16,
|*         .rotary = &rotary, .cache = &cache};
|*     char *text, *error = attn_multi_head_attention_text(&layer, &text);
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_MULTI_HEAD_ATTENTION_C_H
#define ATTN_MULTI_HEAD_ATTENTION_C_H

#include "attn/cached_attention_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rotates queries and keys by their positions. */
typedef struct attn_rotary {
  int64_t size;       /**< Of what is rotated of a head; even. */
  bool interleaved;   /**< Pairs (2k, 2k + 1) rather than halves. */
  bool has_positions; /**< Every token's position is an argument. */
} attn_rotary;

/** Normalises heads by the root of their mean square. */
typedef struct attn_head_norms {
  double epsilon; /**< Positive. */
  bool of_queries_and_keys;
  bool of_output;
  bool has_layer; /**< The output also times 0.2 + 0.6 exp(-0.3 layer). */
  int64_t layer;
} attn_head_norms;

/** Sigmoids that the output of the attention is multiplied by. */
enum { ATTN_GATE_NONE, ATTN_GATE_OF_HEADS, ATTN_GATE_OF_ELEMENTS };
/** One of these; any other number is an error. */
typedef int attn_gate;

/** A layer of multi-head attention. What is optional is left out by NULL, false
    or 0. */
typedef struct attn_multi_head_attention {
  /** Without a log-sum-exp. Its clauses follow those of the layer. */
  attn_attention attention;
  int64_t width;             /**< Of the input, M. */
  int64_t output_width;      /**< 0: `width`. */
  attn_element_type weights; /**< A float, or i8 with scales. */
  int64_t panel_width;       /**< Columns of a panel; 0: no panels. */
  bool panels_in_pairs;      /**< Pairs of rows side by side. */
  bool separate_weights;     /**< Of queries, keys and values. */
  bool has_bias;             /**< Of queries, keys and values. */
  bool has_output_bias;
  int64_t
      source_width; /**< Keys and values come from a source of this width. */
  bool has_memory;  /**< Keys and values are finished arguments. */
  attn_gate gate;
  const attn_head_norms *head_norms;
  const attn_rotary *rotary;
  const attn_layer_cache *cache;
} attn_multi_head_attention;

/** The kernel as IR, which the caller frees with attn_free. */
ATTN_EXPORT char *
attn_multi_head_attention_text(const attn_multi_head_attention *layer,
                               char **text);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_MULTI_HEAD_ATTENTION_C_H */

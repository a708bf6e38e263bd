/*===- paged_cache_c.h - Keys and values in pages, from C ---------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What attn/paged_cache.h says in C++; errors are as attn/error_c.h says. For
|* tokens that are decoded together, in sequences of any lengths:
|*
|*     attn_cache_step *step;
|*     char *error = attn_paged_cache_append(cache, sequences, counts, 2,
&step);
|*     ...  // Kernels run on the tensors of the cache and of the step.
|*     attn_cache_step_commit(step);
|*     attn_cache_step_destroy(step);
|*
|* An error leaves everything as it was, and sets what would have been created
|* to NULL. All functions of a cache may be called from several threads at once;
|* a step may be used by one thread at a time, and outlive its cache.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_PAGED_CACHE_C_H
#define ATTN_PAGED_CACHE_C_H

#include "attn/error_c.h"
#include "attn/tensor_c.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Caches
\*===----------------------------------------------------------------------===*/

/** Keys and values of many sequences. */
typedef struct attn_paged_cache attn_paged_cache;

/** All are at least 1. */
typedef struct attn_paged_cache_options {
  int64_t pages;     /**< Of all sequences together; at most 2^31 - 1. */
  int64_t page_size; /**< Tokens in a page; at most 2^31 - 1. */
  int64_t layers;    /**< With the same tokens in the same pages. */
  int64_t key_value_heads;
  int64_t head_size;       /**< Elements of a key. */
  int64_t value_head_size; /**< Elements of a value. */
  attn_element_type type;  /**< f32, f16, bf16, a float of 8 bits, or i8
                                with f32 scales. */
} attn_paged_cache_options;

ATTN_EXPORT char *
attn_paged_cache_create(const attn_paged_cache_options *options,
                        attn_paged_cache **cache);
/** Steps live on. NULL is fine. */
ATTN_EXPORT void attn_paged_cache_destroy(attn_paged_cache *cache);

/** Tensors of a layer: (pages, key/value heads, page size, head size) of the
    cache's type, and for i8 also (pages, key/value heads, page size) of f32. */
enum {
  ATTN_CACHE_KEYS,
  ATTN_CACHE_VALUES,
  ATTN_CACHE_KEY_SCALES,
  ATTN_CACHE_VALUE_SCALES
};
/** One of these; any other number is an error. */
typedef int attn_cache_tensor;

/** The tensor is the cache's, as are its sizes and strides. */
ATTN_EXPORT char *attn_paged_cache_tensor(const attn_paged_cache *cache,
                                          attn_cache_tensor which,
                                          int64_t layer, attn_tensor *tensor);

/** Pages that neither a sequence nor a step has; 0 if `cache` is NULL. */
ATTN_EXPORT int64_t attn_paged_cache_free_pages(const attn_paged_cache *cache);

/*===----------------------------------------------------------------------===*\
|* Sequences
\*===----------------------------------------------------------------------===*/

/** One sequence of tokens. No two have the same number, also in two caches and
    after one of them was freed. */
typedef int64_t attn_sequence;

/** A sequence without tokens. */
ATTN_EXPORT char *attn_paged_cache_create_sequence(attn_paged_cache *cache,
                                                   attn_sequence *sequence);
/** A sequence that starts with the first `length` tokens of another, in the
    same pages until one appends to them. */
ATTN_EXPORT char *attn_paged_cache_fork(attn_paged_cache *cache,
                                        attn_sequence sequence, int64_t length,
                                        attn_sequence *forked);
/** Drops all tokens of a sequence but the first `length`; 0 evicts it, but for
    its number. */
ATTN_EXPORT char *attn_paged_cache_truncate(attn_paged_cache *cache,
                                            attn_sequence sequence,
                                            int64_t length);
/** Drops a sequence. Pages that no other has are free. */
ATTN_EXPORT char *attn_paged_cache_free_sequence(attn_paged_cache *cache,
                                                 attn_sequence sequence);
/** Tokens of a sequence, without those of a step under way. */
ATTN_EXPORT char *attn_paged_cache_length(const attn_paged_cache *cache,
                                          attn_sequence sequence,
                                          int64_t *length);

/*===----------------------------------------------------------------------===*\
|* Steps
\*===----------------------------------------------------------------------===*/

/** What one call of the kernels needs to know of its sequences, and what it
    changes. Where it is destroyed without a commit, nothing changed. */
typedef struct attn_cache_step attn_cache_step;

/** Makes room for `counts[i]` more tokens in each `sequences[i]`; 0 only
    reads. */
ATTN_EXPORT char *attn_paged_cache_append(attn_paged_cache *cache,
                                          const attn_sequence *sequences,
                                          const int64_t *counts,
                                          size_t num_sequences,
                                          attn_cache_step **step);
/** Free pages that such a step takes. */
ATTN_EXPORT char *attn_paged_cache_count_new_pages(
    const attn_paged_cache *cache, const attn_sequence *sequences,
    const int64_t *counts, size_t num_sequences, int64_t *pages);

/** Tensors of i32 of a step's B sequences. */
enum {
  /** (B, pages of the longest): the pages of each, -1 after the last. */
  ATTN_STEP_TABLE,
  ATTN_STEP_LENGTHS,    /**< (B): tokens before the call. */
  ATTN_STEP_COUNTS,     /**< (B): tokens that the call appends. */
  ATTN_STEP_NEW_LENGTHS /**< (B): tokens after the call. */
};
/** One of these; any other number is an error. */
typedef int attn_step_tensor;

/** The tensor is the step's, as are its sizes and strides, until the step is
    committed or destroyed. */
ATTN_EXPORT char *attn_cache_step_tensor(const attn_cache_step *step,
                                         attn_step_tensor which,
                                         attn_tensor *tensor);
/** Makes the new tokens part of their sequences, after the kernels wrote their
    rows. Does nothing the second time, or if `step` is NULL. */
ATTN_EXPORT void attn_cache_step_commit(attn_cache_step *step);
/** NULL is fine. */
ATTN_EXPORT void attn_cache_step_destroy(attn_cache_step *step);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_PAGED_CACHE_C_H */

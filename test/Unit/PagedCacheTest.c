/*===- PagedCacheTest.c - Paged caches from C -----------------------------===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "attn/paged_cache_c.h"
#include "test/Unit/CTesting.h"

static const attn_paged_cache_options options = {.pages = 4,
                                                 .page_size = 2,
                                                 .layers = 2,
                                                 .key_value_heads = 3,
                                                 .head_size = 5,
                                                 .value_head_size = 7,
                                                 .type = ATTN_F32};

static attn_paged_cache *create(attn_paged_cache_options changed) {
  attn_paged_cache *cache;
  CHECK_SUCCESS(attn_paged_cache_create(&changed, &cache));
  return cache;
}

static attn_tensor tensor_of(const attn_cache_step *step,
                             attn_step_tensor which) {
  attn_tensor tensor;
  CHECK_SUCCESS(attn_cache_step_tensor(step, which, &tensor));
  CHECK(tensor.type == ATTN_I32);
  return tensor;
}

static void test_options(void) {
  attn_paged_cache *cache;
  CHECK_ERROR(attn_paged_cache_create(NULL, &cache), "options: ");
  CHECK(cache == NULL);
  CHECK_ERROR(attn_paged_cache_create(&options, NULL), "cache: ");
  attn_paged_cache_options bad = options;
  bad.value_head_size = 0;
  CHECK_ERROR(attn_paged_cache_create(&bad, &cache),
              "valueHeadSize: expected at least 1, got 0");
  CHECK(cache == NULL);
  bad = options;
  bad.type = 99;
  CHECK_ERROR(attn_paged_cache_create(&bad, &cache),
              "type: there is no element type 99");
  bad.type = ATTN_F64;
  CHECK_ERROR(attn_paged_cache_create(&bad, &cache), "type: expected f32");
  bad = options;
  bad.head_size = INT64_MAX;
  CHECK_ERROR(attn_paged_cache_create(&bad, &cache), "memory");
}

static void test_tensors(void) {
  attn_paged_cache *cache = create(options);
  attn_tensor keys, values;
  CHECK_SUCCESS(attn_paged_cache_tensor(cache, ATTN_CACHE_KEYS, 1, &keys));
  CHECK(keys.type == ATTN_F32 && keys.rank == 4);
  CHECK(keys.sizes[0] == 4 && keys.sizes[1] == 3 && keys.sizes[2] == 2 &&
        keys.sizes[3] == 5);
  CHECK(keys.strides[3] == 1);
  CHECK_SUCCESS(attn_paged_cache_tensor(cache, ATTN_CACHE_VALUES, 1, &values));
  CHECK(values.sizes[3] == 7 && values.data != keys.data);
  CHECK_ERROR(attn_paged_cache_tensor(cache, ATTN_CACHE_KEYS, 2, &keys),
              "layer: expected 0 to 1, got 2");
  CHECK(keys.data == NULL);
  CHECK_ERROR(attn_paged_cache_tensor(cache, ATTN_CACHE_KEYS, -1, &keys),
              "layer: ");
  CHECK_ERROR(attn_paged_cache_tensor(cache, ATTN_CACHE_KEY_SCALES, 0, &keys),
              "which: expected keys or values, or scales of a cache of i8");
  CHECK_ERROR(attn_paged_cache_tensor(cache, 4, 0, &keys), "which: ");
  CHECK_ERROR(attn_paged_cache_tensor(NULL, ATTN_CACHE_KEYS, 0, &keys),
              "cache: ");
  CHECK_ERROR(attn_paged_cache_tensor(cache, ATTN_CACHE_KEYS, 0, NULL),
              "tensor: ");
  attn_paged_cache_destroy(cache);

  attn_paged_cache_options quantized = options;
  quantized.type = ATTN_I8;
  cache = create(quantized);
  CHECK_SUCCESS(
      attn_paged_cache_tensor(cache, ATTN_CACHE_VALUE_SCALES, 0, &values));
  CHECK(values.type == ATTN_F32 && values.rank == 3 && values.sizes[2] == 2);
  attn_paged_cache_destroy(cache);
}

static void test_sequences(void) {
  attn_paged_cache *cache = create(options);
  attn_sequence sequences[2];
  CHECK_SUCCESS(attn_paged_cache_create_sequence(cache, &sequences[0]));
  CHECK_SUCCESS(attn_paged_cache_create_sequence(cache, &sequences[1]));
  const int64_t counts[] = {3, 1};
  int64_t pages, length;
  CHECK_SUCCESS(
      attn_paged_cache_count_new_pages(cache, sequences, counts, 2, &pages));
  CHECK(pages == 3);

  /* Destroyed without a commit, nothing changed. */
  attn_cache_step *step;
  CHECK_SUCCESS(attn_paged_cache_append(cache, sequences, counts, 2, &step));
  CHECK(attn_paged_cache_free_pages(cache) == 1);
  CHECK_ERROR(attn_paged_cache_free_sequence(cache, sequences[0]),
              "'sequence': expected one that no step uses");
  attn_cache_step_destroy(step);
  CHECK(attn_paged_cache_free_pages(cache) == 4);

  CHECK_SUCCESS(attn_paged_cache_append(cache, sequences, counts, 2, &step));
  attn_tensor table = tensor_of(step, ATTN_STEP_TABLE);
  CHECK(table.rank == 2 && table.sizes[0] == 2 && table.sizes[1] == 2);
  CHECK(((const int32_t *)table.data)[table.strides[0] + 1] == -1);
  CHECK(((const int32_t *)tensor_of(step, ATTN_STEP_LENGTHS).data)[0] == 0);
  CHECK(((const int32_t *)tensor_of(step, ATTN_STEP_COUNTS).data)[1] == 1);
  CHECK(((const int32_t *)tensor_of(step, ATTN_STEP_NEW_LENGTHS).data)[0] == 3);
  CHECK_ERROR(attn_cache_step_tensor(step, -1, &table), "which: ");
  CHECK_ERROR(attn_cache_step_tensor(step, ATTN_STEP_TABLE, NULL), "tensor: ");
  CHECK_ERROR(attn_cache_step_tensor(NULL, ATTN_STEP_TABLE, &table), "step: ");
  attn_cache_step_commit(step);
  attn_cache_step_commit(step);
  CHECK_ERROR(attn_cache_step_tensor(step, ATTN_STEP_TABLE, &table),
              "step: expected one that is not committed");
  attn_cache_step_destroy(step);
  CHECK_SUCCESS(attn_paged_cache_length(cache, sequences[0], &length));
  CHECK(length == 3);

  attn_sequence forked;
  CHECK_SUCCESS(attn_paged_cache_fork(cache, sequences[0], 2, &forked));
  CHECK(attn_paged_cache_free_pages(cache) == 1);
  CHECK_ERROR(attn_paged_cache_fork(cache, sequences[0], 4, &forked),
              "'length'");
  CHECK_SUCCESS(attn_paged_cache_truncate(cache, sequences[0], 1));
  CHECK_ERROR(attn_paged_cache_truncate(cache, sequences[0], 2), "'length'");
  CHECK_SUCCESS(attn_paged_cache_free_sequence(cache, forked));
  CHECK_ERROR(attn_paged_cache_length(cache, forked, &length), "'sequence'");
  CHECK_ERROR(
      attn_paged_cache_free_sequence(cache, forked),
      "'sequence': expected a sequence of this cache that was not freed");
  CHECK(attn_paged_cache_free_pages(cache) == 2);

  const int64_t many[] = {100, 0}, negative[] = {-1, 0},
                huge[] = {0, INT64_MAX};
  const attn_sequence twice[] = {sequences[0], sequences[0]};
  CHECK_ERROR(attn_paged_cache_append(cache, sequences, many, 2, &step),
              "pages");
  CHECK(step == NULL);
  CHECK_ERROR(attn_paged_cache_append(cache, sequences, negative, 2, &step),
              "'counts'");
  CHECK_ERROR(attn_paged_cache_append(cache, sequences, huge, 2, &step),
              "'counts': expected at most 2147483646 for sequence 1");
  CHECK_ERROR(attn_paged_cache_append(cache, twice, counts, 2, &step),
              "'sequences': expected each sequence once");
  CHECK_ERROR(attn_paged_cache_append(cache, NULL, counts, 2, &step),
              "sequences: expected a pointer, got NULL");
  CHECK_ERROR(attn_paged_cache_append(cache, sequences, NULL, 2, &step),
              "counts: ");
  CHECK_ERROR(attn_paged_cache_append(NULL, sequences, counts, 2, &step),
              "cache: ");
  CHECK_ERROR(attn_paged_cache_append(cache, sequences, counts, 2, NULL),
              "step: ");
  CHECK_ERROR(
      attn_paged_cache_count_new_pages(cache, sequences, counts, 2, NULL),
      "pages: ");
  CHECK_SUCCESS(attn_paged_cache_append(cache, NULL, NULL, 0, &step));

  /* The step outlives the cache. */
  attn_paged_cache_destroy(cache);
  CHECK(tensor_of(step, ATTN_STEP_TABLE).sizes[0] == 0);
  attn_cache_step_destroy(step);
}

static void test_null(void) {
  attn_sequence sequence;
  int64_t length;
  CHECK_ERROR(attn_paged_cache_create_sequence(NULL, &sequence), "cache: ");
  CHECK_ERROR(attn_paged_cache_fork(NULL, 0, 0, &sequence), "cache: ");
  CHECK_ERROR(attn_paged_cache_truncate(NULL, 0, 0), "cache: ");
  CHECK_ERROR(attn_paged_cache_free_sequence(NULL, 0), "cache: ");
  CHECK_ERROR(attn_paged_cache_length(NULL, 0, &length), "cache: ");
  attn_paged_cache *cache = create(options);
  CHECK_ERROR(attn_paged_cache_create_sequence(cache, NULL), "sequence: ");
  CHECK_ERROR(attn_paged_cache_fork(cache, 0, 0, NULL), "forked: ");
  CHECK_ERROR(attn_paged_cache_length(cache, 0, NULL), "length: ");
  attn_paged_cache_destroy(cache);
  CHECK(attn_paged_cache_free_pages(NULL) == 0);
  attn_paged_cache_destroy(NULL);
  attn_cache_step_destroy(NULL);
  attn_cache_step_commit(NULL);
  attn_free(NULL);
}

int main(void) {
  test_options();
  test_tensors();
  test_sequences();
  test_null();
  return failures != 0;
}

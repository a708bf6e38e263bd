/*===- CObjectsTest.c - Objects, blocks and summaries from C --------------===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "attn/attn_c.h"
#include "attn/blocks_c.h"
#include "attn/object_c.h"
#include "test/Unit/CTesting.h"

#include <math.h>

static const attn_attention variant = {.type = ATTN_F32,
                                       .query_heads = 1,
                                       .key_value_heads = 1,
                                       .head_size = 8,
                                       .value_head_size = 8,
                                       .batch = 1,
                                       .query_length = ATTN_DYNAMIC,
                                       .key_length = ATTN_DYNAMIC,
                                       .clauses = "mask causal"};

static void test_object(const char *text) {
  char *object, *header;
  size_t size;
  CHECK_SUCCESS(attn_compile_to_object(text, NULL, &object, &size, &header));
  CHECK(size > 1000 && memcmp(object, "\177ELF", 4) == 0);
  CHECK(strstr(header, "int attention(") != NULL);
  attn_free(object);
  attn_free(header);

  attn_object_options options = {.name = "attend",
                                 .entry = "attention",
                                 .pipeline = "reference",
                                 .quantize_queries = true,
                                 .file_name = "some.mlir"};
  CHECK_SUCCESS(
      attn_compile_to_object(text, &options, &object, &size, &header));
  CHECK(strstr(header, "int attend(") != NULL);
  CHECK(strstr(header, "some.mlir") != NULL);
  attn_free(object);
  attn_free(header);

  options.cpu = "abacus";
  CHECK_ERROR(attn_compile_to_object(text, &options, &object, &size, &header),
              "cpu: expected a processor");
  CHECK(object == NULL && size == 0 && header == NULL);
  options.cpu = NULL;
  CHECK_ERROR(
      attn_compile_to_object("nonsense", &options, &object, &size, &header),
      "some.mlir:1:1: ");
  CHECK_ERROR(attn_compile_to_object(NULL, NULL, &object, &size, &header),
              "text: ");
  CHECK_ERROR(attn_compile_to_object(text, NULL, NULL, &size, &header),
              "object: ");
  CHECK_ERROR(attn_compile_to_object(text, NULL, &object, NULL, &header),
              "object_size: ");
  CHECK_ERROR(attn_compile_to_object(text, NULL, &object, &size, NULL),
              "header: ");
}

static void test_blocks(const char *text) {
  const int64_t queries = 4, keys = 200, offset = 100;
  attn_block_options options = {.query_length = &queries, .key_length = &keys};
  char *shown = NULL;
  CHECK_SUCCESS(attn_show_blocks(text, &options, &shown));
  CHECK(strstr(shown, "attention: 4 queries, 200 keys\n") != NULL);
  attn_free(shown);
  options.svg = true;
  CHECK_SUCCESS(attn_show_blocks(text, &options, &shown));
  CHECK(strncmp(shown, "<svg ", 5) == 0);
  attn_free(shown);

  options.offset = &offset;
  CHECK_ERROR(attn_show_blocks(text, &options, &shown), "offset");
  CHECK(shown == NULL);
  CHECK_ERROR(attn_show_blocks(text, NULL, &shown), "query");
  CHECK_ERROR(attn_show_blocks(NULL, NULL, &shown), "text: ");
  CHECK_ERROR(attn_show_blocks(text, NULL, NULL), "shown: ");
}

static attn_tensor dense(const void *data, attn_element_type type, int rank,
                         const int64_t *sizes) {
  attn_tensor result = {(void *)data, type, rank, sizes, NULL};
  return result;
}

/* Documents of 40 and 60 tokens, whose values are 1 and 2. */
enum { NUM_TOKENS = 100, NUM_FIRST = 40 };

static void test_summary(const attn_engine *engine) {
  attn_attention documents = variant;
  documents.clauses =
      "mask document(%known, %known : tensor<?x?xi32>, tensor<?x?xi32>)";
  documents.arguments = "%ids: tensor<?x?xi32>, %ranges: tensor<2x?x?xi32>";
  documents.operations =
      "%known = attn.with_block_range %ids, %ranges blocks [1, 32]\n"
      "      : tensor<?x?xi32>, tensor<2x?x?xi32>";
  attn_kernel *kernel = NULL;
  CHECK_SUCCESS(attn_engine_compile_attention(engine, &documents, &kernel));

  int32_t ids[NUM_TOKENS];
  static float query[8 * NUM_TOKENS], value[8 * NUM_TOKENS],
      output[8 * NUM_TOKENS];
  for (int i = 0; i < NUM_TOKENS; ++i) {
    ids[i] = i < NUM_FIRST ? 1 : 2;
    for (int d = 0; d < 8; ++d)
      value[8 * i + d] = (float)ids[i];
  }
  const int64_t sizes[] = {1, 1, NUM_TOKENS, 8}, id_sizes[] = {1, NUM_TOKENS};
  const attn_tensor table = dense(ids, ATTN_I32, 2, id_sizes);
  const int64_t blocks[] = {1, 32};
  attn_block_summary *summary = NULL;
  CHECK_SUCCESS(attn_block_summary_create(engine, &table, blocks, &summary));
  attn_tensor ranges;
  CHECK_SUCCESS(attn_block_summary_ranges(summary, &ranges));
  CHECK(ranges.rank == 3 && ranges.sizes[0] == 2 && ranges.sizes[1] == 1 &&
        ranges.sizes[2] == 4);
  const int32_t expected[] = {1, 1, 2, 2, 1, 2, 2, 2};
  CHECK(memcmp(ranges.data, expected, sizeof(expected)) == 0);

  const attn_argument arguments[] = {
      {ATTN_TENSOR, {dense(query, ATTN_F32, 4, sizes)}},
      {ATTN_TENSOR, {dense(query, ATTN_F32, 4, sizes)}},
      {ATTN_TENSOR, {dense(value, ATTN_F32, 4, sizes)}},
      {ATTN_TENSOR, {table}},
      {ATTN_TENSOR, {ranges}}};
  const attn_tensor result = dense(output, ATTN_F32, 4, sizes);
  CHECK_SUCCESS(attn_kernel_run(kernel, arguments, 5, &result, 1));
  for (int i = 0; i < 8 * NUM_TOKENS; ++i)
    CHECK(fabsf(output[i] - value[i]) < 1e-5f);
  attn_block_summary_destroy(summary);
  attn_kernel_destroy(kernel);
}

static void test_summary_errors(const attn_engine *engine) {
  const int32_t ids[4] = {0};
  const float reals[4] = {0};
  const int64_t sizes[] = {4, 1, 1, 1, 1, 1, 1, 1};
  const int64_t blocks[] = {2, 1, 1, 1, 1, 1, 1, 1}, odd[] = {3};
  attn_tensor table = dense(ids, ATTN_I32, 1, sizes), ranges;
  attn_block_summary *summary = NULL;
  CHECK_ERROR(attn_block_summary_create(engine, &table, odd, &summary),
              "argument 'table': expected sizes of blocks that are powers of "
              "two, got 3");
  CHECK(summary == NULL);
  attn_tensor bad = dense(reals, ATTN_F32, 1, sizes);
  CHECK_ERROR(attn_block_summary_create(engine, &bad, blocks, &summary),
              "table: expected integers, or i1, of rank 1 to 7, got f32 of "
              "rank 1");
  bad = dense(ids, ATTN_I32, 0, NULL);
  CHECK_ERROR(attn_block_summary_create(engine, &bad, blocks, &summary),
              "got i32 of rank 0");
  bad = dense(ids, ATTN_I32, 8, sizes);
  CHECK_ERROR(attn_block_summary_create(engine, &bad, blocks, &summary),
              "got i32 of rank 8");
  bad = dense(ids, ATTN_I32, 9, sizes);
  CHECK_ERROR(attn_block_summary_create(engine, &bad, blocks, &summary),
              "table: rank is 9");
  bad = dense(NULL, ATTN_I32, 1, sizes);
  CHECK_ERROR(attn_block_summary_create(engine, &bad, blocks, &summary),
              "'table'");
  CHECK_ERROR(attn_block_summary_create(NULL, &table, blocks, &summary),
              "engine: ");
  CHECK_ERROR(attn_block_summary_create(engine, NULL, blocks, &summary),
              "table: ");
  CHECK_ERROR(attn_block_summary_create(engine, &table, NULL, &summary),
              "blocks: ");
  CHECK_ERROR(attn_block_summary_create(engine, &table, blocks, NULL),
              "summary: ");
  CHECK_ERROR(attn_block_summary_ranges(NULL, &ranges), "summary: ");
  CHECK_ERROR(attn_block_summary_ranges(summary, NULL), "ranges: ");
  attn_block_summary_destroy(NULL);
}

int main(void) {
  attn_engine *engine = NULL;
  char *text = NULL;
  CHECK_SUCCESS(attn_engine_create(NULL, &engine));
  CHECK_SUCCESS(attn_attention_text(&variant, &text));
  test_object(text);
  test_blocks(text);
  test_summary(engine);
  test_summary_errors(engine);
  attn_free(text);
  attn_engine_destroy(engine);
  return failures != 0;
}

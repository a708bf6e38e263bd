/*===- CLayersTest.c - Layers and multi-token attention from C ------------===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "attn/multi_head_attention_c.h"
#include "attn/multi_token_attention_c.h"
#include "test/Unit/CTesting.h"

#include <math.h>

static const attn_attention causal = {.type = ATTN_F32,
                                      .query_heads = 1,
                                      .key_value_heads = 1,
                                      .head_size = 2,
                                      .value_head_size = 2,
                                      .batch = ATTN_DYNAMIC,
                                      .query_length = ATTN_DYNAMIC,
                                      .key_length = ATTN_DYNAMIC,
                                      .clauses = "mask causal"};

/* Keys and queries are 0, values are the input: means of it. */
static const float qkv_weight[] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1};
static const float output_weight[] = {1, 0, 0, 1};
static const int64_t input_sizes[] = {1, 2, 2}, qkv_sizes[] = {2, 6},
                     output_sizes[] = {2, 2}, cache_sizes[] = {1, 1, 4, 2},
                     lengths_sizes[] = {1}, heads_sizes[] = {1, 1, 2, 2};

static attn_tensor dense(const void *data, attn_element_type type, int rank,
                         const int64_t *sizes) {
  attn_tensor result = {(void *)data, type, rank, sizes, NULL};
  return result;
}
static attn_argument read_from(attn_tensor tensor) {
  attn_argument result = {ATTN_TENSOR, {tensor}};
  return result;
}

static attn_kernel *compile(const attn_engine *engine, char *text) {
  attn_kernel *kernel = NULL;
  CHECK_SUCCESS(attn_engine_compile(engine, text, &kernel));
  attn_free(text);
  return kernel;
}

static void test_cache(const attn_engine *engine) {
  const attn_layer_cache cache = {.type = ATTN_F32};
  const attn_multi_head_attention layer = {
      .attention = causal, .width = 2, .weights = ATTN_F32, .cache = &cache};
  char *text = NULL;
  CHECK_SUCCESS(attn_multi_head_attention_text(&layer, &text));
  attn_kernel *kernel = compile(engine, text);
  CHECK(attn_kernel_num_arguments(kernel) == 6);
  CHECK(attn_kernel_num_results(kernel) == 3);

  const float input[] = {4, 8, 2, 2};
  float output[4], keys[8] = {0}, values[8] = {3, 5};
  const int32_t lengths[] = {1};
  attn_tensor key_cache = dense(keys, ATTN_F32, 4, cache_sizes),
              value_cache = dense(values, ATTN_F32, 4, cache_sizes);
  const attn_argument arguments[] = {
      read_from(dense(input, ATTN_F32, 3, input_sizes)),
      read_from(dense(qkv_weight, ATTN_F32, 2, qkv_sizes)),
      read_from(dense(output_weight, ATTN_F32, 2, output_sizes)),
      read_from(key_cache),
      read_from(value_cache),
      read_from(dense(lengths, ATTN_I32, 1, lengths_sizes))};
  const attn_tensor results[] = {dense(output, ATTN_F32, 3, input_sizes),
                                 key_cache, value_cache};
  CHECK_SUCCESS(attn_kernel_run(kernel, arguments, 6, results, 3));
  CHECK(fabs(output[0] - 3.5) < 1e-5 && fabs(output[1] - 6.5) < 1e-5);
  CHECK(fabs(output[2] - 3.0) < 1e-5 && fabs(output[3] - 5.0) < 1e-5);
  CHECK(memcmp(values + 2, input, sizeof(input)) == 0);
  attn_kernel_destroy(kernel);
}

/* One query that sees one stored key and its own, which are all 0. */
static void test_cached_attention(const attn_engine *engine) {
  attn_cached_attention step = {.attention = causal,
                                .cache = {.type = ATTN_F32}};
  const float zeros[2] = {0}, value[] = {1, 3};
  const int64_t rows_sizes[] = {1, 1, 1, 2};
  const int32_t lengths[] = {1};
  const char *const clauses[] = {
      NULL, "mask causal", "mask key_padding(%lengths.after : tensor<?xi64>)"};
  for (int i = 0; i < 3; ++i) {
    step.attention.clauses = clauses[i];
    char *text = NULL;
    CHECK_SUCCESS(attn_cached_attention_text(&step, &text));
    attn_kernel *kernel = compile(engine, text);
    float output[2], keys[8] = {0}, values[8] = {3, 5};
    attn_tensor key_cache = dense(keys, ATTN_F32, 4, cache_sizes),
                value_cache = dense(values, ATTN_F32, 4, cache_sizes);
    const attn_argument arguments[] = {
        read_from(dense(zeros, ATTN_F32, 4, rows_sizes)),
        read_from(dense(zeros, ATTN_F32, 4, rows_sizes)),
        read_from(dense(value, ATTN_F32, 4, rows_sizes)),
        read_from(key_cache),
        read_from(value_cache),
        read_from(dense(lengths, ATTN_I32, 1, lengths_sizes))};
    const attn_tensor results[] = {dense(output, ATTN_F32, 4, rows_sizes),
                                   key_cache, value_cache};
    CHECK_SUCCESS(attn_kernel_run(kernel, arguments, 6, results, 3));
    CHECK(fabs(output[0] - 2.0) < 1e-5 && fabs(output[1] - 4.0) < 1e-5);
    CHECK(memcmp(values + 2, value, sizeof(value)) == 0);
    attn_kernel_destroy(kernel);
  }

  char *text = NULL;
  step.is_packed = true;
  CHECK_SUCCESS(attn_cached_attention_text(&step, &text));
  CHECK(strstr(text, "sequences(%sequences : tensor<?xi32>)") != NULL);
  attn_kernel_destroy(compile(engine, text));
  step.cache.page_size = -2;
  CHECK_ERROR(attn_cached_attention_text(&step, &text),
              "cache.pageSize: expected at least 1, or dynamic, got -2");
  step.cache.type = 99;
  CHECK_ERROR(attn_cached_attention_text(&step, &text),
              "cache.type: there is no element type 99");
  CHECK(text == NULL);
  CHECK_ERROR(attn_cached_attention_text(NULL, &text), "step: ");
  CHECK_ERROR(attn_cached_attention_text(&step, NULL), "text: ");
}

/* Compiles `layer`, whose text has these parts. */
static void check_layer(const attn_engine *engine,
                        const attn_multi_head_attention *layer,
                        const char *const *parts) {
  char *text = NULL;
  CHECK_SUCCESS(attn_multi_head_attention_text(layer, &text));
  for (; *parts; ++parts)
    if (!strstr(text, *parts)) {
      fprintf(stderr, "expected '%s' in\n%s", *parts, text);
      ++failures;
    }
  attn_kernel_destroy(compile(engine, text));
}

static void test_options(const attn_engine *engine) {
  const attn_rotary rotary = {.size = 2, .interleaved = true};
  const attn_head_norms norms = {.epsilon = 0.5,
                                 .of_queries_and_keys = true,
                                 .of_output = true,
                                 .has_layer = true,
                                 .layer = 3};
  const attn_layer_cache pages = {
      .type = ATTN_I8, .page_size = 16, .has_counts = true};
  const attn_multi_head_attention all = {.attention = causal,
                                         .width = 2,
                                         .output_width = 4,
                                         .weights = ATTN_BF16,
                                         .panel_width = 8,
                                         .panels_in_pairs = true,
                                         .separate_weights = true,
                                         .has_bias = true,
                                         .has_output_bias = true,
                                         .gate = ATTN_GATE_OF_ELEMENTS,
                                         .head_norms = &norms,
                                         .rotary = &rotary,
                                         .cache = &pages};
  check_layer(engine, &all,
              (const char *const[]){
                  "%query_weight: tensor<1x1x8x2xbf16>",
                  "%key_weight_bias: tensor<2xf32>",
                  "%output_weight_bias: tensor<4xf32>",
                  "gate elements(%gate_weight", "%query_norm: tensor<2xf32>",
                  "%output_norm: tensor<2xf32>", "layer(3) epsilon(0.5)",
                  "rope interleaved(%cosine", "%key_cache: tensor<?x1x16x2xi8>",
                  "counts(%counts", "table(%table", "mask causal", NULL});

  attn_multi_head_attention cross = {.attention = causal,
                                     .width = 2,
                                     .weights = ATTN_I8,
                                     .source_width = 6,
                                     .gate = ATTN_GATE_OF_HEADS};
  cross.attention.clauses = "score alibi(%steep : tensor<1xf32>) mask "
                            "key_padding(%n : tensor<?xi32>)";
  cross.attention.arguments = "%slopes: tensor<1xf32>, %n: tensor<?xi32>";
  cross.attention.operations = "%steep = arith.addf %slopes, %slopes "
                               ": tensor<1xf32>";
  check_layer(engine, &cross,
              (const char *const[]){"source(%source : tensor<?x?x6xf32>)",
                                    "%key_weight_scales: tensor<2xf32>",
                                    "gate heads(", NULL});
  attn_multi_head_attention memory = {
      .attention = causal, .width = 2, .weights = ATTN_F32, .has_memory = true};
  check_layer(engine, &memory,
              (const char *const[]){"memory(%key, %value", NULL});

  const attn_layer_cache ring = {.type = ATTN_F32, .is_ring = true};
  const attn_rotary placed = {.size = 2, .has_positions = true};
  attn_multi_head_attention window = {.attention = causal,
                                      .width = 2,
                                      .weights = ATTN_F32,
                                      .rotary = &placed,
                                      .cache = &ring};
  check_layer(engine, &window,
              (const char *const[]){"rope half_split(", "positions(%positions",
                                    "ring size(", NULL});
}

static void test_layer_errors(void) {
  char *text = NULL;
  CHECK_ERROR(attn_multi_head_attention_text(NULL, &text), "layer: ");
  const attn_multi_head_attention good = {
      .attention = causal, .width = 2, .weights = ATTN_F32};
  CHECK_ERROR(attn_multi_head_attention_text(&good, NULL), "text: ");
  attn_multi_head_attention bad = good;
  bad.width = 0;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "width: expected at least 1, got 0");
  CHECK(text == NULL);
  bad = good;
  bad.weights = 99;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "weights: there is no element type 99");
  bad = good;
  bad.attention.type = -1;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "type: there is no element type -1");
  bad = good;
  bad.gate = 3;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "gate: there is no gate 3");
  bad = good;
  bad.panels_in_pairs = true;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "panels.width: expected at least 1, got 0");
  const attn_layer_cache cache = {.type = 12};
  bad = good;
  bad.cache = &cache;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "cache.type: there is no element type 12");
  bad = good;
  bad.attention.log_sum_exp = true;
  CHECK_ERROR(attn_multi_head_attention_text(&bad, &text),
              "attention.logSumExp: expected none in a layer, got one");
}

static void test_multi_token(const attn_engine *engine) {
  /* The convolution is none, and the gate halves. */
  const attn_multi_token_kernel one = {.queries = 1, .keys = 1};
  attn_multi_token_attention attention = {.attention = causal,
                                          .before = {.kernel = &one},
                                          .weights = ATTN_F32,
                                          .has_gate = true};
  char *text = NULL;
  CHECK_SUCCESS(attn_multi_token_attention_text(&attention, &text));
  attn_kernel *kernel = compile(engine, text);
  const float zeros[4] = {0}, value[] = {4, 8, 2, 2}, weight[] = {1};
  float output[4];
  const int64_t kernel_sizes[] = {1, 1, 1}, gate_sizes[] = {1, 1, 2};
  const attn_argument arguments[] = {
      read_from(dense(zeros, ATTN_F32, 4, heads_sizes)),
      read_from(dense(zeros, ATTN_F32, 4, heads_sizes)),
      read_from(dense(value, ATTN_F32, 4, heads_sizes)),
      read_from(dense(weight, ATTN_F32, 3, kernel_sizes)),
      read_from(dense(zeros, ATTN_F32, 3, gate_sizes))};
  const attn_tensor result = dense(output, ATTN_F32, 4, heads_sizes);
  CHECK_SUCCESS(attn_kernel_run(kernel, arguments, 5, &result, 1));
  CHECK(fabs(output[0] - 2) < 1e-5 && fabs(output[1] - 4) < 1e-5);
  CHECK(fabs(output[2] - 1.5) < 1e-5 && fabs(output[3] - 2.5) < 1e-5);
  attn_kernel_destroy(kernel);

  const attn_multi_token_kernel wide = {.queries = 3, .keys = 5, .heads = 2};
  const attn_head_norm norm = {.epsilon = 0.25, .has_layer = true, .layer = 2};
  attention.attention.query_heads = 4;
  attention.before.kernel = &wide;
  attention.after.mixed_heads = 2;
  attention.past = 2;
  attention.head_norm = &norm;
  CHECK_SUCCESS(attn_multi_token_attention_text(&attention, &text));
  CHECK(strstr(text, "%kernel_before: tensor<4x2x3x5xf32>") != NULL);
  CHECK(strstr(text, "%mixing_after: tensor<2x2x2xf32>") != NULL);
  CHECK(strstr(text, "layer(2)") != NULL);
  attn_kernel_destroy(compile(engine, text));

  attention.weights = ATTN_I8;
  CHECK_ERROR(attn_multi_token_attention_text(&attention, &text),
              "weights: expected f32, f16 or bf16, got i8");
  CHECK(text == NULL);
  attention.weights = -1;
  CHECK_ERROR(attn_multi_token_attention_text(&attention, &text),
              "weights: there is no element type -1");
  CHECK_ERROR(attn_multi_token_attention_text(NULL, &text), "attention: ");
  CHECK_ERROR(attn_multi_token_attention_text(&attention, NULL), "text: ");
}

int main(void) {
  attn_engine *engine = NULL;
  CHECK_SUCCESS(attn_engine_create(NULL, &engine));
  test_cache(engine);
  test_cached_attention(engine);
  test_options(engine);
  test_layer_errors();
  test_multi_token(engine);
  attn_engine_destroy(engine);
  return failures != 0;
}

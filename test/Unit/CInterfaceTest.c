/*===- CInterfaceTest.c - The host API from C -----------------------------===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "attn/attn_c.h"
#include "test/Unit/CTesting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two heads, a causal mask and slopes: what is left of a mean over keys. */
static const attn_attention variant = {
    .type = ATTN_F32,
    .query_heads = 2,
    .key_value_heads = 2,
    .head_size = 1,
    .value_head_size = 1,
    .batch = ATTN_DYNAMIC,
    .query_length = ATTN_DYNAMIC,
    .key_length = ATTN_DYNAMIC,
    .log_sum_exp = true,
    .clauses = "score alibi(%slopes : tensor<2xf32>) mask causal",
    .arguments = "%slopes: tensor<2xf32>"};

static const int64_t query_sizes[] = {1, 2, 3, 1}, key_sizes[] = {1, 2, 3, 1},
                     lse_sizes[] = {1, 2, 3}, slope_sizes[] = {2};

static attn_tensor dense(const void *data, int rank, const int64_t *sizes) {
  attn_tensor result = {(void *)data, ATTN_F32, rank, sizes, NULL};
  return result;
}
static attn_argument read_from(attn_tensor tensor) {
  attn_argument result = {ATTN_TENSOR, {tensor}};
  return result;
}

static void test_run(const attn_kernel *kernel) {
  const float query[6] = {0}, key[6] = {1, 1, 1, 1, 1, 1},
              value[6] = {1, 2, 4, 1, 2, 4};
  const float slopes[2] = {0, 1};
  float output[6], lse[6];
  const attn_argument arguments[] = {read_from(dense(query, 4, query_sizes)),
                                     read_from(dense(key, 4, key_sizes)),
                                     read_from(dense(value, 4, key_sizes)),
                                     read_from(dense(slopes, 1, slope_sizes))};
  const attn_tensor results[] = {dense(output, 4, query_sizes),
                                 dense(lse, 3, lse_sizes)};
  CHECK_SUCCESS(attn_kernel_run(kernel, arguments, 4, results, 2));
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < 3; ++i) {
      double sum = 0, weighted = 0;
      for (int j = 0; j <= i; ++j) {
        double weight = exp(-slopes[h] * (i - j));
        sum += weight;
        weighted += weight * value[3 * h + j];
      }
      CHECK(fabs(output[3 * h + i] - weighted / sum) < 1e-5);
      CHECK(fabs(lse[3 * h + i] - log(sum)) < 1e-5);
    }

  CHECK_ERROR(attn_kernel_run(NULL, arguments, 4, results, 2),
              "kernel: expected a pointer, got NULL");
  CHECK_ERROR(attn_kernel_run(kernel, NULL, 4, results, 2), "arguments: ");
  CHECK_ERROR(attn_kernel_run(kernel, arguments, 4, NULL, 2), "results: ");
  CHECK_ERROR(attn_kernel_run(kernel, arguments, 3, results, 2),
              "expected 4 arguments, got 3");

  attn_argument bad[4];
  memcpy(bad, arguments, sizeof(bad));
  bad[3].kind = ATTN_INTEGER;
  bad[3].value.integer = 1;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2), "'slopes'");
  bad[3].kind = ATTN_REAL;
  bad[3].value.real = 1;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2), "'slopes'");
  bad[3] = arguments[3];
  bad[3].value.tensor.rank = -1;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2),
              "argument 3: rank is -1, expected 0 to 8");
  bad[3].value.tensor.rank = 9;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2), "rank is 9");
  bad[3] = arguments[3];
  bad[3].value.tensor.sizes = NULL;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2),
              "argument 3: sizes are null");
  bad[3] = arguments[3];
  bad[3].value.tensor.type = (attn_element_type)99;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2),
              "argument 3: there is no element type 99");
  bad[3] = arguments[3];
  bad[3].kind = (attn_argument_kind)3;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2), "got kind 3");
  bad[3] = arguments[3];
  bad[3].value.tensor.data = NULL;
  CHECK_ERROR(attn_kernel_run(kernel, bad, 4, results, 2), "'slopes'");

  /* The values of every second row, in a wider buffer. */
  const float wide[12] = {1, 9, 2, 9, 4, 9, 1, 9, 2, 9, 4, 9};
  const int64_t strides[] = {12, 6, 2, 1};
  bad[3] = arguments[3];
  bad[2] = read_from(dense(wide, 4, key_sizes));
  bad[2].value.tensor.strides = strides;
  float again[6];
  const attn_tensor results_again[] = {dense(again, 4, query_sizes),
                                       results[1]};
  CHECK_SUCCESS(attn_kernel_run(kernel, bad, 4, results_again, 2));
  CHECK(memcmp(again, output, sizeof(again)) == 0);
}

/* What only the kernel can check, and its argument's name. */
static void test_sizes(const attn_engine *engine) {
  attn_attention dynamic = variant;
  dynamic.log_sum_exp = false;
  dynamic.clauses = "score alibi(%slopes : tensor<?xf32>)";
  dynamic.arguments = "%slopes: tensor<?xf32>";
  attn_kernel *kernel = NULL;
  CHECK_SUCCESS(attn_engine_compile_attention(engine, &dynamic, &kernel));
  const float zeros[6] = {0};
  float output[6];
  int64_t num_slopes = 1;
  const attn_argument arguments[] = {read_from(dense(zeros, 4, query_sizes)),
                                     read_from(dense(zeros, 4, key_sizes)),
                                     read_from(dense(zeros, 4, key_sizes)),
                                     read_from(dense(zeros, 1, &num_slopes))};
  const attn_tensor result = dense(output, 4, query_sizes);
  CHECK_ERROR(attn_kernel_run(kernel, arguments, 4, &result, 1),
              "'score' region: index 1 in "
              "dimension 0 of 'slopes', of size 1");
  num_slopes = 2;
  CHECK_SUCCESS(attn_kernel_run(kernel, arguments, 4, &result, 1));
  num_slopes = -1;
  CHECK_ERROR(attn_kernel_run(kernel, arguments, 4, &result, 1),
              "argument 3 'slopes': dimension 0 is -1");
  num_slopes = INT64_MAX;
  CHECK_ERROR(attn_kernel_run(kernel, arguments, 4, &result, 1),
              "argument 3 'slopes': the view spans more memory than there is");
  attn_kernel_destroy(kernel);
}

static void test_compile(const attn_engine *engine) {
  attn_kernel *kernel = NULL;
  CHECK_SUCCESS(attn_engine_compile_attention(engine, &variant, &kernel));
  CHECK(attn_kernel_num_arguments(kernel) == 4);
  CHECK(attn_kernel_num_results(kernel) == 2);
  CHECK(strcmp(attn_kernel_argument_name(kernel, 3), "slopes") == 0);
  CHECK(attn_kernel_argument_name(kernel, 4) == NULL);
  CHECK(attn_kernel_num_remarks(kernel) == 0);
  CHECK_SUCCESS(attn_kernel_prepare(kernel));
  test_run(kernel);
  attn_kernel_destroy(kernel);

  /* Without vectors, which the compiler says. */
  attn_attention slow = variant;
  slow.type = ATTN_F64;
  slow.clauses = "score softcap(2.0)";
  CHECK_SUCCESS(attn_engine_compile_attention(engine, &slow, &kernel));
  CHECK(attn_kernel_num_remarks(kernel) > 0);
  CHECK(strstr(attn_kernel_remark(kernel, 0),
               "remark: the 'score' region is evaluated position by position: "
               "it has a vector form for f32 only") != NULL);
  CHECK(attn_kernel_remark(kernel, attn_kernel_num_remarks(kernel)) == NULL);
  attn_kernel_destroy(kernel);

  /* The same by its text. */
  char *text = NULL;
  CHECK_SUCCESS(attn_attention_text(&variant, &text));
  CHECK_SUCCESS(attn_engine_compile(engine, text, &kernel));
  attn_free(text);
  test_run(kernel);
  attn_kernel_destroy(kernel);

  attn_attention plain = variant;
  plain.clauses = plain.arguments = NULL;
  CHECK_SUCCESS(attn_engine_compile_attention(engine, &plain, &kernel));
  CHECK(attn_kernel_num_arguments(kernel) == 3);
  attn_kernel_destroy(kernel);

  attn_attention bad = variant;
  bad.key_value_heads = 3;
  CHECK_ERROR(attn_engine_compile_attention(engine, &bad, &kernel),
              "queryHeads: expected a multiple of keyValueHeads");
  CHECK(kernel == NULL);
  CHECK_ERROR(attn_attention_text(&bad, &text), "queryHeads");
  CHECK(text == NULL);
  bad = variant;
  bad.clauses = "mask casual";
  CHECK_ERROR(attn_engine_compile_attention(engine, &bad, &kernel),
              "unknown mask 'casual'");
  bad.clauses = "score alibi(%slopes : tensor<2x1xf32>)";
  bad.arguments = "%slopes: tensor<2x1xf32>";
  CHECK_ERROR(attn_engine_compile_attention(engine, &bad, &kernel),
              "alibi(%slopes): expected a tensor of floats and of rank 1, got "
              "'tensor<2x1xf32>'");
  bad.clauses = NULL;
  bad.arguments = "%query: f32";
  CHECK_ERROR(attn_engine_compile_attention(engine, &bad, &kernel),
              "argument '%query' is already in use");
  bad.arguments = "%\xff: f32";
  CHECK_ERROR(attn_engine_compile_attention(engine, &bad, &kernel),
              "invalid SSA name");
  bad = variant;
  bad.head_size = INT64_MAX;
  CHECK_ERROR(attn_engine_compile_attention(engine, &bad, &kernel),
              "headSize: expected 1 to 4096, got 9223372036854775807");
  bad = variant;
  bad.type = (attn_element_type)-1;
  CHECK_ERROR(attn_attention_text(&bad, &text),
              "type: there is no element type -1");
  bad.type = ATTN_I8;
  CHECK_ERROR(attn_attention_text(&bad, &text), "type: expected f64");
  CHECK_ERROR(attn_engine_compile(engine, "nonsense", &kernel),
              "<string>:1:1: ");
  CHECK_ERROR(attn_engine_compile(engine, NULL, &kernel), "text: ");
  CHECK_ERROR(attn_engine_compile(NULL, "", &kernel), "engine: ");
  CHECK_ERROR(attn_engine_compile(engine, "", NULL), "kernel: ");
  CHECK_ERROR(attn_engine_compile_attention(engine, NULL, &kernel),
              "attention: ");
  CHECK_ERROR(attn_attention_text(NULL, &text), "attention: ");
  CHECK_ERROR(attn_attention_text(&variant, NULL), "text: ");
}

static void run_in_order(void *context, int count,
                         void (*task)(void *task_context, int index),
                         void *task_context) {
  ++*(int *)context;
  for (int index = 0; index < count; ++index)
    task(task_context, index);
}

/* There is no GPU of this number, whatever the machine. */
static void test_gpu(void) {
  attn_engine_options options = {.pipeline = "gpu", .gpu = -1};
  attn_engine *engine;
  attn_kernel *kernel;
  CHECK_SUCCESS(attn_engine_create(&options, &engine));
  CHECK_ERROR(attn_engine_compile_attention(engine, &variant, &kernel), "GPU");
  CHECK(kernel == NULL);
  attn_engine_destroy(engine);

  options.fall_back_to_cpu = true;
  CHECK_SUCCESS(attn_engine_create(&options, &engine));
  CHECK_SUCCESS(attn_engine_compile_attention(engine, &variant, &kernel));
  test_run(kernel);
  CHECK_ERROR(attn_kernel_launch(kernel, NULL, 0, NULL, 0, NULL),
              "expected a kernel of pipeline 'gpu' to launch, got one of "
              "'cpu'");
  attn_kernel_destroy(kernel);
  attn_engine_destroy(engine);
}

int main(void) {
  attn_engine *engine = NULL;
  CHECK_SUCCESS(attn_engine_create(NULL, &engine));
  test_compile(engine);
  test_sizes(engine);
  attn_engine_destroy(engine);

  int calls = 0;
  attn_engine_options options = {.threads = 2,
                                 .parallel_for = run_in_order,
                                 .parallel_for_context = &calls};
  CHECK_SUCCESS(attn_engine_create(&options, &engine));
  test_compile(engine);
  CHECK(calls > 0);
  attn_engine_destroy(engine);

  test_gpu();

  options.cpu = "abacus";
  CHECK_ERROR(attn_engine_create(&options, &engine), "abacus");
  CHECK(engine == NULL);
  CHECK_ERROR(attn_engine_create(NULL, NULL), "engine: ");

  attn_engine_destroy(NULL);
  attn_kernel_destroy(NULL);
  attn_free(NULL);
  CHECK_ERROR(attn_kernel_prepare(NULL), "kernel: ");
  CHECK(attn_kernel_num_arguments(NULL) == 0);
  CHECK(attn_kernel_num_results(NULL) == 0);
  CHECK(attn_kernel_argument_name(NULL, 0) == NULL);
  CHECK(attn_kernel_num_remarks(NULL) == 0);
  CHECK(attn_kernel_remark(NULL, 0) == NULL);
  return failures != 0;
}

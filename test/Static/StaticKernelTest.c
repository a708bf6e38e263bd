//===- StaticKernelTest.c - Kernels compiled ahead of time --------*- C -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program in C without MLIR and LLVM. It compares a kernel with the formula
// in double.
//
//===----------------------------------------------------------------------===//

#include "attend.h"
#include "find.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
  kHeads = 4,
  kGroup = 2,
  kQueries = 37,
  kKeys = 53,
  kSize = 32,
  kValueSize = 16,
  kOffset = 9
};
static const double kScale = 0.3;

// As (B, S, H, D) in memory.
static float query[kQueries][kHeads][kSize];
static float key[kKeys][kHeads / kGroup][kSize];
static float value[kKeys][kHeads / kGroup][kValueSize];
static float output[kHeads][kQueries][kValueSize];

static int numFailures = 0;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
      ++numFailures;                                                           \
    }                                                                          \
  } while (0)

static void fill(float *data, size_t count) {
  static uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(state >> 8) / (float)(1 << 23) - 1.0f;
  }
}

/// Largest error of the output, relative to the largest element.
static double findError(void) {
  double largest = 0, error = 0;
  for (int h = 0; h < kHeads; ++h)
    for (int i = 0; i < kQueries; ++i) {
      double weights[kKeys], sum = 0, expected[kValueSize] = {0};
      for (int j = 0; j < kKeys && j <= i + kOffset; ++j) {
        double dot = 0;
        for (int d = 0; d < kSize; ++d)
          dot += (double)query[i][h][d] * key[j][h / kGroup][d];
        weights[j] = exp(dot * (double)(float)kScale);
        sum += weights[j];
        for (int d = 0; d < kValueSize; ++d)
          expected[d] += weights[j] * value[j][h / kGroup][d];
      }
      for (int d = 0; d < kValueSize; ++d) {
        largest = fmax(largest, fabs(expected[d] / sum));
        error = fmax(error, fabs(expected[d] / sum - output[h][i][d]));
      }
    }
  return error / largest;
}

static const int64_t querySizes[] = {1, kHeads, kQueries, kSize};
static const int64_t queryStrides[] = {0, kSize, kHeads *kSize, 1};
static const int64_t keySizes[] = {1, kHeads / kGroup, kKeys, kSize};
static const int64_t keyStrides[] = {0, kSize, kHeads / kGroup *kSize, 1};
static const int64_t valueSizes[] = {1, kHeads / kGroup, kKeys, kValueSize};
static const int64_t valueStrides[] = {0, kValueSize,
                                       kHeads / kGroup *kValueSize, 1};
static const int64_t outputSizes[] = {1, kHeads, kQueries, kValueSize};

static const attn_tensor queryTensor = {query, ATTN_F32, 4, querySizes,
                                        queryStrides};
static const attn_tensor keyTensor = {key, ATTN_F32, 4, keySizes, keyStrides};
static const attn_tensor valueTensor = {value, ATTN_F32, 4, valueSizes,
                                        valueStrides};
static const attn_tensor outputTensor = {output, ATTN_F32, 4, outputSizes,
                                         NULL};

static void testValues(void) {
  static float first[kHeads][kQueries][kValueSize];
  for (unsigned threads = 0; threads < 4; ++threads) {
    char error[200] = "";
    attn_set_threads(threads);
    memset(output, 0xff, sizeof(output));
    CHECK(attend(&queryTensor, &keyTensor, &valueTensor, kOffset, kScale,
                 &outputTensor, error, sizeof(error)) == 0);
    CHECK(strcmp(error, "") == 0);
    CHECK(findError() < 2e-6);
    if (threads == 0)
      memcpy(first, output, sizeof(output));
    CHECK(memcmp(first, output, sizeof(output)) == 0);
  }
  const int64_t none[] = {1, kHeads, 0, kSize};
  const int64_t noOutput[] = {1, kHeads, 0, kValueSize};
  attn_tensor noQueries = {NULL, ATTN_F32, 4, none, NULL};
  attn_tensor noResult = {NULL, ATTN_F32, 4, noOutput, NULL};
  CHECK(attend(&noQueries, &keyTensor, &valueTensor, 0, kScale, &noResult, NULL,
               0) == 0);
}

static int numLoops = 0, mostTasks = 0;

/// A host without threads, which runs tasks from the last one on.
static void runBackwards(void *context, int count, void (*task)(void *, int),
                         void *taskContext) {
  ++*(int *)context;
  CHECK(count > 1);
  mostTasks = count > mostTasks ? count : mostTasks;
  while (count > 0)
    task(taskContext, --count);
}

static void testHostThreads(void) {
  char error[200] = "";
  attn_set_threads(3);
  attn_set_parallel_for(runBackwards, &numLoops);
  memset(output, 0xff, sizeof(output));
  CHECK(attend(&queryTensor, &keyTensor, &valueTensor, kOffset, kScale,
               &outputTensor, error, sizeof(error)) == 0);
  CHECK(findError() < 2e-6);
  CHECK(numLoops > 0);
  // Of tiles; rows of two heads are copied before.
  CHECK(mostTasks == 3);
  int before = numLoops;
  attn_set_parallel_for(NULL, NULL);
  CHECK(attend(&queryTensor, &keyTensor, &valueTensor, kOffset, kScale,
               &outputTensor, error, sizeof(error)) == 0);
  CHECK(numLoops == before);
}

/// A call that fails, says why, and writes nothing.
static void expectError(const attn_tensor *q, const attn_tensor *k,
                        int64_t offset, const attn_tensor *result,
                        const char *expected) {
  char error[200] = "";
  static float before[kHeads][kQueries][kValueSize];
  memcpy(before, output, sizeof(output));
  CHECK(attend(q, k, &valueTensor, offset, kScale, result, error,
               sizeof(error)) == 1);
  CHECK(memcmp(before, output, sizeof(output)) == 0);
  if (!strstr(error, expected)) {
    fprintf(stderr, "expected \"%s\", got \"%s\"\n", expected, error);
    ++numFailures;
  }
}

static void testErrors(void) {
  const attn_tensor *q = &queryTensor, *k = &keyTensor, *o = &outputTensor;
  expectError(NULL, k, 0, o, "argument 0 'query': the attn_tensor is null");
  expectError(q, k, 0, NULL, "result 0: the attn_tensor is null");
  expectError(q, k, (int64_t)1 << 40, o,
              "argument 3 'offset': 1099511627776 does not fit i32");
  attn_tensor bad = queryTensor;
  bad.data = NULL;
  expectError(&bad, k, 0, o, "argument 0 'query': data is null");
  bad = queryTensor;
  bad.sizes = NULL;
  expectError(&bad, k, 0, o, "argument 0 'query': sizes are null");
  bad = queryTensor;
  bad.rank = 9;
  expectError(&bad, k, 0, o, "argument 0 'query': rank is 9, expected 0 to 8");
  bad.rank = -1;
  expectError(&bad, k, 0, o, "argument 0 'query': rank is -1, expected 0 to 8");
  bad.rank = 3;
  expectError(&bad, k, 0, o, "argument 0 'query': rank is 3, expected 4");
  bad = queryTensor;
  bad.type = ATTN_F16;
  expectError(&bad, k, 0, o,
              "argument 0 'query': element type is f16, expected f32");
  bad.type = (attn_element_type)77;
  expectError(&bad, k, 0, o, "argument 0 'query': there is no element type 77");
  bad = keyTensor;
  bad.sizes = querySizes;
  expectError(q, &bad, 0, o, "argument 1 'key': dimension 1 is 4, expected 2");
  bad = outputTensor;
  bad.data = query;
  expectError(q, k, 0, &bad, "result 0 overlaps argument 0 'query'");

  char shortError[9] = "";
  CHECK(attend(NULL, k, &valueTensor, 0, kScale, o, shortError,
               sizeof(shortError)) == 1);
  CHECK(strcmp(shortError, "argument") == 0);
  CHECK(attend(NULL, k, &valueTensor, 0, kScale, o, NULL, 0) == 1);
  CHECK(attend(NULL, k, &valueTensor, 0, kScale, o, shortError, 0) == 1);
}

/// The other kernel of the program, `@lookup` under another name.
static void testSecondKernel(void) {
  uint16_t table[] = {0x3f80, 0x4000, 0x4040}; // 1, 2, 3 as bf16.
  uint16_t found = 0, sums[3] = {0};
  const int64_t sizes[] = {3};
  attn_tensor tableTensor = {table, ATTN_BF16, 1, sizes, NULL};
  attn_tensor foundTensor = {&found, ATTN_BF16, 0, NULL, NULL};
  attn_tensor sumsTensor = {sums, ATTN_BF16, 1, sizes, NULL};
  char error[200] = "";
  CHECK(find(&tableTensor, 1, &foundTensor, &sumsTensor, error,
             sizeof(error)) == 0);
  CHECK(found == 0x4000);
  CHECK(sums[0] == 0x4040 && sums[1] == 0x4080 && sums[2] == 0x40a0);
  CHECK(find(&tableTensor, 3, &foundTensor, &sumsTensor, error,
             sizeof(error)) == 1);
  CHECK(strstr(error, "out-of-bounds access") != NULL);
}

int main(void) {
  fill(&query[0][0][0], sizeof(query) / sizeof(float));
  fill(&key[0][0][0], sizeof(key) / sizeof(float));
  fill(&value[0][0][0], sizeof(value) / sizeof(float));
  testValues();
  testHostThreads();
  testErrors();
  testSecondKernel();
  if (numFailures == 0)
    printf("passed\n");
  return numFailures != 0;
}

//===- static_host.c - A program without a compiler ---------------*- C -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attend.h"

#include <math.h>
#include <stdio.h>

int main(void) {
  // The query scores both keys alike, so the output is the values' mean.
  float query[] = {1, 1}, key[] = {1, 2, 2, 1}, value[] = {1, 3}, output = 0;
  const int64_t one[] = {1, 1, 1, 2}, two[] = {1, 1, 2, 2},
                values[] = {1, 1, 2, 1}, result[] = {1, 1, 1, 1};
  attn_tensor queryView = {query, ATTN_F32, 4, one, NULL};
  attn_tensor keyView = {key, ATTN_F32, 4, two, NULL};
  attn_tensor valueView = {value, ATTN_F32, 4, values, NULL};
  attn_tensor outputView = {&output, ATTN_F32, 4, result, NULL};
  char error[256];
  if (attend(&queryView, &keyView, &valueView, &outputView, error,
             sizeof(error))) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  printf("output: %g, expected: 2\n", output);
  return fabsf(output - 2.0F) < 1e-6F ? 0 : 1;
}

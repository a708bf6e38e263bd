/*===- CTesting.h - Checks of the tests in C ----------------------*- C -*-===*\
|*
|* Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_TEST_UNIT_CTESTING_H
#define ATTN_TEST_UNIT_CTESTING_H

#include "attn/error_c.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(bool holds, const char *what, const char *file, int line) {
  if (holds)
    return;
  fprintf(stderr, "%s:%d: %s\n", file, line, what);
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)

/* A call that succeeds. */
static void check_success(char *error, const char *file, int line) {
  check(error == NULL, error ? error : "", file, line);
  attn_free(error);
}
#define CHECK_SUCCESS(call) check_success(call, __FILE__, __LINE__)

/* A call whose error has `part` in it. */
static void check_error(char *error, const char *part, const char *file,
                        int line) {
  check(error != NULL, "an error", file, line);
  if (error && !strstr(error, part)) {
    fprintf(stderr, "%s:%d: expected '%s' in '%s'\n", file, line, part, error);
    ++failures;
  }
  attn_free(error);
}
#define CHECK_ERROR(call, part) check_error(call, part, __FILE__, __LINE__)

#endif /* ATTN_TEST_UNIT_CTESTING_H */

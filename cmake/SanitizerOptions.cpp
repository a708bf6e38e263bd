//===- SanitizerOptions.cpp - Defaults of sanitizer builds ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into every executable of a sanitizer build, because the packaged
// libMLIR.so and libLLVM.so are not instrumented.
//
//===----------------------------------------------------------------------===//

// Allocations that fail are for the runtime to report, not for the sanitizer.
#define ATTN_COMMON_OPTIONS "allocator_may_return_null=1"

// LLVM's allocators, where they are inlined into our code, poison memory that
// the same allocators inside libMLIR.so hand out without unpoisoning it.
extern "C" const char *__asan_default_options() {
  return ATTN_COMMON_OPTIONS
      ":allow_user_poisoning=0:detect_stack_use_after_return=1";
}

// Atomics inside an uninstrumented library are not seen as synchronisation.
extern "C" const char *__tsan_default_options() {
  return ATTN_COMMON_OPTIONS ":ignore_noninstrumented_modules=1";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}

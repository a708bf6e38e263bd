//===- Failure.cpp - Benchmarks that cannot be measured -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Failure.h"

using namespace attn;

static bool failed = false;

void bench::fail(benchmark::State &state, const Error &error) {
  failed = true;
  state.SkipWithError(error.message.c_str());
}

bool bench::anyFailed() { return failed; }

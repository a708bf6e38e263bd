//===- Failure.h - Benchmarks that cannot be measured -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_FAILURE_H
#define ATTN_TOOLS_ATTN_BENCH_FAILURE_H

#include "attn/error.h"

#include <benchmark/benchmark.h>

namespace attn::bench {

/// Ends a benchmark with an error, which also decides how the program ends:
/// Google Benchmark only prints it.
void fail(benchmark::State &state, const Error &error);

/// Whether a benchmark has failed.
bool anyFailed();

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_FAILURE_H

//===- CaseRun.h - Runs an attention on a GPU -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_GPU_BENCH_CASERUN_H
#define ATTN_TOOLS_ATTN_GPU_BENCH_CASERUN_H

#include "attn/engine.h"
#include "runtime/CUDA/Device.h"
#include "tools/attn-gpu-bench/GPUCase.h"

namespace attn::gpubench {

/// What came of a case.
struct Outcome {
  /// Rows of the output that were compared with the float64 oracle; the largest
  /// error among them, and its bound.
  Index rows = 0;
  double error = 0, bound = 0;
  double milliseconds = 0; ///< Of a call, the median; 0 if it is only checked.
  std::vector<std::string> remarks; ///< The compiler's.
};

/// Compiles a case, calls it on random numbers, compares the output with the
/// oracle's, within its tolerance, and, where there is more than that to it,
/// measures calls for about `seconds`.
///
/// A measured call takes what the GPU needs for it: calls are put into a stream
/// that is kept busy until all of them are there, so that the time in which the
/// CPU launches them is none of it.
Expected<Outcome> runCase(const GPUCase &gpuCase, const Engine &engine,
                          const cuda::Device &device, double seconds);

} // namespace attn::gpubench

#endif // ATTN_TOOLS_ATTN_GPU_BENCH_CASERUN_H

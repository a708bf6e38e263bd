//===- Workload.h - A compiled attention with its tensors -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_WORKLOAD_H
#define ATTN_TOOLS_ATTN_BENCH_WORKLOAD_H

#include "tools/OutputCheck.h"
#include "tools/attn-bench/AttentionCase.h"
#include "tools/attn-bench/Buffer.h"
#include "tools/attn-bench/Kernels.h"

namespace attn::bench {

/// What is run over and over: a kernel and its arguments, the same in every
/// process.
class Workload {
public:
  /// Compiles, makes the inputs, runs once, and holds some rows of the result
  /// to the reference: what is fast and wrong is an error.
  static Expected<Workload> create(const AttentionCase &attention,
                                   ElementType type, unsigned threads,
                                   const Options &options);

  /// Gives the seconds that a call takes.
  Expected<double> run() const;

  double flops() const { return attention.countFlops(); }
  const CompileStats &compileStats() const { return kernel.stats(); }
  /// What tuning found, for people; empty without it.
  const std::string &tuned() const { return found; }

private:
  Workload(AttentionCase attention, ElementType type, const Kernel &kernel);
  Status runAndCheck() const;
  Status tune(ElementType type, unsigned threads, const Options &options);
  /// Keys or values of some heads, (1, count, S, `size`), as they are in
  /// memory.
  TensorView viewHeads(const Buffer &rows, Index size, Index first,
                       Index count) const;
  Expected<Accuracy> checkAt(Index head, Index row) const;
  Status check() const;

  AttentionCase attention;
  Kernel kernel;
  std::string found;
  Buffer query, key, value, output;
  std::vector<Buffer> operands;
  std::vector<Argument> arguments;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_WORKLOAD_H

//===- Workload.h - A compiled attention with its tensors -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_WORKLOAD_H
#define ATTN_TOOLS_ATTN_BENCH_WORKLOAD_H

#include "attn/engine.h"
#include "tools/attn-bench/AttentionCase.h"
#include "tools/attn-bench/Buffer.h"

namespace attn::bench {

/// How to compile, from the command line.
struct Options {
  std::string pipeline; ///< Empty: the engine's default.
  std::string cpu;      ///< Empty: this machine.
  /// Empty: kernels are compiled anew.
  std::string cacheDirectory;
  bool alone = false; ///< No baselines.
};

/// An engine for so many threads.
Expected<Engine> createEngine(const Options &options, unsigned threads);
Expected<Kernel> compileCase(const AttentionCase &attention, ElementType type,
                             const Engine &engine, const Options &options);

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

private:
  Workload(AttentionCase attention, ElementType type, Kernel kernel);
  Status checkRow(Index head, Index row) const;
  Status check() const;

  AttentionCase attention;
  ElementType type;
  Kernel kernel;
  Buffer query, key, value, output;
  std::vector<Buffer> operands;
  std::vector<Argument> arguments;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_WORKLOAD_H

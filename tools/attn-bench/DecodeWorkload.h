//===- DecodeWorkload.h - A decode step with its caches ------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_DECODEWORKLOAD_H
#define ATTN_TOOLS_ATTN_BENCH_DECODEWORKLOAD_H

#include "tools/OutputCheck.h"
#include "tools/attn-bench/ColdCaches.h"
#include "tools/attn-bench/DecodeCase.h"
#include "tools/attn-bench/Kernels.h"

namespace attn::bench {

/// A kernel for a decode step and its arguments, the same in every process.
class DecodeWorkload {
public:
  /// Compiles, makes the inputs, runs once, and holds some rows of the result
  /// to the reference: what is fast and wrong is an error.
  static Expected<DecodeWorkload> create(const DecodePointer &decode,
                                         ElementType type, unsigned threads,
                                         const Options &options);

  /// Gives the seconds that a call on a cache takes.
  Expected<double> run(const ColdCaches::Cache &cache) const;
  const ColdCaches::Cache &nextCache() { return caches.next(); }

  double flops() const { return decode->countFlops(); }
  double bytes() const { return decode->countBytes(type); }
  const CompileStats &compileStats() const { return kernel.stats(); }
  /// What tuning found, for people; empty without it.
  const std::string &tuned() const { return found; }

private:
  DecodeWorkload(DecodePointer decode, ElementType type, const Kernel &kernel,
                 bool isWarm);
  std::vector<Argument> argumentsOf(const ColdCaches::Cache &cache) const;
  Status runAndCheck(const Options &options);
  Status tune(unsigned threads, const Options &options);
  Status check(const ColdCaches::Cache &cache, bool quantizedQueries) const;
  Expected<Accuracy> checkAt(const ColdCaches::Cache &cache, Index batch,
                             Index head, Index query,
                             bool quantizedQueries) const;

  DecodePointer decode;
  ElementType type;
  Kernel kernel;
  std::string found;
  Buffer query, output;
  ColdCaches caches;
  std::vector<Buffer> operands;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_DECODEWORKLOAD_H

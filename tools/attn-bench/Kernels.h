//===- Kernels.h - Compiles and calls kernels ----------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_KERNELS_H
#define ATTN_TOOLS_ATTN_BENCH_KERNELS_H

#include "attn/engine.h"

#include <span>
#include <string>

namespace attn::bench {

/// How to compile, from the command line.
struct Options {
  std::string pipeline; ///< Empty: the engine's default.
  std::string cpu;      ///< Empty: this machine.
  /// Empty: kernels are compiled anew.
  std::string cacheDirectory;
  /// Where gradients of variants are written with what they are of. Empty:
  /// nowhere.
  std::string saveFolder;
  bool alone = false; ///< No baselines.
  bool warm = false;  ///< Keys and values may be left in the machine's caches.
  /// How long attention and decoding are tuned before they are measured; 0:
  /// not.
  double tuningSeconds = 0;
  /// Not from the command line: as in CompileOptions.
  bool quantizeQueries = false;
};

/// An engine for so many threads.
Expected<Engine> createEngine(const Options &options, unsigned threads);

/// Compiles MLIR text with an engine of its own, for so many threads. An error
/// has everything that the compiler said.
Expected<Kernel> compileText(const std::string &name, const std::string &text,
                             unsigned threads, const Options &options);

/// Looks for better plans of a text that compiles, for a call.
Expected<Tuning> tuneText(const std::string &name, const std::string &text,
                          unsigned threads, const Options &options,
                          std::span<const Argument> arguments,
                          std::span<const TensorView> results);

/// What tuning found, as a label: "tuned 1.05: #attn.plan<...>".
std::string describe(const Tuning &tuning);

/// Calls a kernel and gives the seconds that it took.
Expected<double> timeKernel(const Kernel &kernel,
                            std::span<const Argument> arguments,
                            std::span<const TensorView> results);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_KERNELS_H

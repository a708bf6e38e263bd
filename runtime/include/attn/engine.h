//===- engine.h - Compiles IR text into kernels -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ENGINE_H
#define ATTN_ENGINE_H

#include "attn/error.h"
#include "attn/export.h"
#include "attn/kernel.h"
#include "attn/parallel_for.h"

#include <memory>
#include <string>
#include <string_view>

namespace attn {

struct Attention;

struct EngineOptions {
  /// Directory of compiled objects, shared by engines and processes of one
  /// user; created when missing, for that user alone. Empty: kernels are cached
  /// in memory only.
  ///
  /// What is in it is executed, so whoever can write it can do all that this
  /// process can. It is an error if the directory is not the effective user's,
  /// or if its mode lets group or others write; files of which that is so are
  /// compiled again and replaced. Parents of the directory are not checked. It
  /// is held open: an engine keeps to it when another comes in its place.
  std::string cacheDirectory;
  /// Threads that work on one call of a kernel, the calling one included. 0: as
  /// many as there are processors. 1: everything runs in the calling thread.
  /// Results do not depend on it.
  unsigned threads = 0;
  /// The host's own threads. Empty: a pool that all engines share, with as many
  /// threads as there are processors.
  ParallelFor parallelFor;
  /// The processor to compile for, by LLVM's name for it, such as "znver4" or
  /// "x86-64-v3". Kernels run here, so its vector instructions must be ones
  /// that this machine has. Empty: this machine.
  std::string cpu;
  /// The GPU of pipeline "gpu", in the driver's order.
  int gpu = 0;
  /// Path of the library of NVIDIA's driver. Empty: the system's.
  std::string gpuDriver;
};

struct CompileOptions {
  /// Function to compile, without '@'. Empty: the module's only public
  /// function.
  std::string entry;
  /// Lowering: "cpu", fused, vectorised and parallel; or "reference", slow and
  /// plain, on one thread, to compare with; or "gpu", for the engine's GPU; or
  /// "gpu-emulator", as for GPUs, but executed on the CPU, on one thread, to
  /// find faults.
  std::string pipeline = "cpu";
  /// Compile with "cpu" where "gpu" fails, as without a GPU (an error that
  /// starts with "no GPU: ") or for what is not lowered for one.
  /// `Kernel::pipeline` says which it was.
  bool fallBackToCPU = false;
  /// Multiply keys in caches of i8 as integers, with queries rounded to i8,
  /// where the processor has dot products of them: faster, with an error of up
  /// to 2e-2 of the output's largest element on normally distributed numbers.
  /// Otherwise such keys are multiplied as numbers of f32.
  bool quantizeQueries = false;
  /// Name of the source text in diagnostics.
  std::string fileName = "<string>";
};

/// Compiles MLIR text for the machine it runs on. Copies share one engine. All
/// members may be called from several threads at once. Copied, never moved
/// from, so that every Engine can be called.
class ATTN_EXPORT Engine {
public:
  Engine(const Engine &) = default;
  Engine &operator=(const Engine &) = default;

  static Expected<Engine> create(const EngineOptions &options = {});

  /// Compiles one function of `text`. The same text and options compiled again
  /// give the same code, from memory if a Kernel of it lives or if it is among
  /// the last 128 that the engine was asked for. The code of other kernels is
  /// freed. Each that lives has two mappings of memory, of which Linux gives a
  /// process 65,530 (vm.max_map_count). An error carries the MLIR diagnostics
  /// with their locations.
  Expected<Kernel> compile(std::string_view text,
                           const CompileOptions &options = {}) const;

  /// The same of a variant's text (see attention.h).
  Expected<Kernel> compile(const Attention &attention,
                           const CompileOptions &options = {}) const;

private:
  struct Impl;
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl;
};

} // namespace attn

#endif // ATTN_ENGINE_H

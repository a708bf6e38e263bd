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
#include "attn/gradient.h"
#include "attn/kernel.h"
#include "attn/parallel_for.h"
#include "attn/tuning.h"

#include <memory>
#include <optional>
#include <span>
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
  /// Tune every kernel of pipeline "cpu" that is compiled and was not tuned
  /// before, on standard sizes: of its dynamic ones the first of a tensor is 1,
  /// others are 1024. What takes integers, such as lengths, has none and is not
  /// tuned, with a remark: see `Engine::tune`. Absent: none is, but plans that
  /// are in the cache's directory are used.
  std::optional<TuningOptions> tuning;
};

struct CompileOptions {
  /// Function to compile, without '@'. Empty: the module's only public
  /// function.
  std::string entry;
  /// Lowering: "cpu", fused, vectorised and parallel; or "reference", slow and
  /// plain, on one thread, to compare with; or "gpu", for the engine's GPU; or
  /// "gpu-emulator", as for GPUs, but executed on the CPU, on one thread, to
  /// find faults, or "gpu-emulator-sm_90a", as for Hopper's.
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

/// What a kernel becomes on its way to the processor.
enum class CodeForm {
  MLIR,     ///< A module of the LLVM dialect, as text.
  LLVM,     ///< Optimised LLVM IR, as text.
  Assembly, ///< The processor's, as text.
  Object,   ///< A relocatable object file.
};

/// Compiles MLIR text for the machine it runs on. Copies share one engine. All
/// members may be called from several threads at once. Copied, never moved
/// from, so that every Engine can be called.
///
/// What a text may cost is limited; beyond it there is an error with its place:
/// nesting 256 levels deep, with what aliases stand for; 65536 words that an
/// alias of aliases stands for; integers of 128 bits; rank 32 (arguments: 8);
/// vectors of 1024 elements; constants of 64 MiB; 4096 elements that are
/// listed; 1024 arguments and 256 results; 100000 operations once calls are
/// inlined; 4096 operations, and 64 functions of the math dialect, in a score
/// or a mask.
///
/// Compiling, `compileToObject` and `showBlocks` work on a thread of Attn's
/// own, with 16 MiB of stack, and wait for it: 64 KB are enough for the thread
/// that calls. An engine of several threads generates the code of a kernel's
/// functions on as many, which changes nothing but the time. That the system
/// has no thread to give is an error; so is a crash of the compiler (SIGSEGV,
/// SIGBUS, SIGABRT, SIGFPE or SIGILL that its thread raises, or that LLVM gives
/// up). Its last diagnostic is "the compiler crashed", with what it was doing
/// and, where that is known, the place in the text. The engine and other
/// compilations go on. What the crashed one had allocated is lost, some MB; the
/// promise cannot go further than the memory that it did not write to. Builds
/// with AddressSanitizer or ThreadSanitizer catch nothing, so that the
/// sanitizer reports it.
///
/// Handlers of these signals are set only while something compiles, on the
/// stack that `sigaltstack` gives. Signals of other threads, and such as
/// another process sends, go to the handler that the host had, with its siginfo
/// and context, or do what they do without one. A handler that the host sets
/// meanwhile stays; what crashes then reaches it first. LLVM's fatal error
/// handler is taken too, and removed, if the host shares the library libLLVM.
class ATTN_EXPORT Engine {
public:
  Engine(const Engine &) = default;
  Engine &operator=(const Engine &) = default;

  static Expected<Engine> create(const EngineOptions &options = {});

  /// Compiles one function of `text`. The same text and options compiled again
  /// give the same code, from memory (and without a thread) if a Kernel of it
  /// lives or if it is among the last 128 that the engine was asked for. The
  /// code of other kernels is freed. Each that lives has two mappings of
  /// memory, of which Linux gives a process 65,530 (vm.max_map_count). An error
  /// carries the MLIR diagnostics with their locations.
  Expected<Kernel> compile(std::string_view text,
                           const CompileOptions &options = {}) const;

  /// The same of a variant's text (see attention.h).
  Expected<Kernel> compile(const Attention &attention,
                           const CompileOptions &options = {}) const;

  /// The gradient of a variant. The kernel takes what the variant's does, then
  /// the output and the log-sum-exp (B, Hq, Sq) that it gave, with
  /// `logSumExp`, and the gradient of the output; with `results` of 0 and 1,
  /// also that of the log-sum-exp. It gives the gradients of query, key and
  /// value, or of the arguments named in `gradient`, such as tensors that the
  /// score mentions; `saved` is set.
  Expected<Kernel> compileGradient(const Attention &attention,
                                   const GradientOptions &gradient = {},
                                   const CompileOptions &options = {}) const;

  /// The tangent of a variant. The kernel takes what the variant's does, then
  /// the output and the log-sum-exp (B, Hq, Sq) that it gave, with `logSumExp`,
  /// and the tangents of query, key and value, or of the arguments named in
  /// `tangent`; it gives the tangent of the output, with `results` of 0 and 1
  /// also that of the log-sum-exp; `saved` is set.
  Expected<Kernel> compileTangent(const Attention &attention,
                                  const GradientOptions &tangent = {},
                                  const CompileOptions &options = {}) const;

  /// The code that `compile` makes of the text, to look at. Its only function
  /// to call is attn_entry, which gets the addresses of memref descriptors and
  /// of scalars. An error for pipeline "gpu", of which there is code for two
  /// processors.
  Expected<std::string> emit(std::string_view text, CodeForm form,
                             const CompileOptions &options = {}) const;

  /// Looks for plans (`#attn.plan`) with which the kernel is faster than with
  /// the compiler's, on this machine and in a call with these arguments, and
  /// compiles it with them. Plans differ in tiles, blocks of keys, chunks and
  /// prefetches; kernels with and without them run in turns. Where nothing is
  /// faster by more than the times differ, and by 2 %, nothing changes.
  ///
  /// From then on, `compile` uses them for the same text, in this engine and,
  /// with a cache directory, in others on such a processor. They may change the
  /// order of sums and so the last bits of results, once; a stored plan always
  /// gives the same (rule A15 in docs/dialect.md).
  ///
  /// The call is run often: `results`, and what it updates in place, have no
  /// meaning afterwards. Errors are those of `compile` and `Kernel::run`.
  Expected<Tuning> tune(std::string_view text,
                        std::span<const Argument> arguments,
                        std::span<const TensorView> results,
                        const TuningOptions &tuning = {},
                        const CompileOptions &options = {}) const;

private:
  struct Impl;
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl;
};

} // namespace attn

#endif // ATTN_ENGINE_H

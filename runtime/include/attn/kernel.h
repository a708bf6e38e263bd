//===- kernel.h - Compiled kernels and how to call them ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_H
#define ATTN_KERNEL_H

#include "attn/error.h"
#include "attn/export.h"
#include "attn/tensor_view.h"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace attn {

/// A size in terms of a call's arguments:
/// `constant + sum of coefficient * (size of a dimension, or value of an
/// integer argument)`.
struct SizeExpr {
  struct Term {
    std::int64_t coefficient = 1;
    int argument = 0;
    /// Dimension of the argument; -1 for the value of an integer argument.
    int dimension = 0;
    bool operator==(const Term &) const = default;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;
  bool operator==(const SizeExpr &) const = default;
};

/// One argument or result of a kernel.
struct Parameter {
  /// Size of a dimension that is only known when the kernel is called.
  static constexpr std::int64_t dynamic = -1;

  /// Name in the source text, e.g. "query"; empty for results.
  std::string name;
  /// False for a scalar. Results are always tensors.
  bool isTensor = true;
  ElementType type = ElementType::f32;
  /// Sizes, or `dynamic`.
  std::vector<std::int64_t> shape;
  /// Of a result: the argument that it updates in place, or -1. That argument
  /// is `bufferization.writable` in the source text, and a call has the same
  /// view for both.
  int updates = -1;
};

/// What a kernel takes and gives, and which sizes must agree.
struct Signature {
  /// Two sizes that must be equal in every call. `text` says why, e.g.
  /// "key/value length of attn.attention".
  struct Constraint {
    SizeExpr lhs, rhs;
    std::string text;
  };

  std::string entry;
  std::vector<Parameter> arguments;
  std::vector<Parameter> results;
  /// Size of every dimension of every result.
  std::vector<std::vector<SizeExpr>> resultSizes;
  std::vector<Constraint> constraints;
};

/// An argument of a call: a view, or a scalar by value.
class Argument {
public:
  Argument(const TensorView &view) : value(view) {}
  Argument(std::integral auto scalar) : value(std::int64_t(scalar)) {}
  Argument(std::floating_point auto scalar) : value(double(scalar)) {}

  const TensorView *view() const { return std::get_if<TensorView>(&value); }
  const std::int64_t *integer() const {
    return std::get_if<std::int64_t>(&value);
  }
  const double *real() const { return std::get_if<double>(&value); }

private:
  std::variant<TensorView, std::int64_t, double> value;
};

/// Where a kernel's code came from, and what it cost in milliseconds. Stages
/// that did not run are 0.
struct CompileStats {
  enum class Source { compiler, memoryCache, diskCache };
  Source source = Source::compiler;
  double parseMs = 0;     ///< Text to verified IR.
  double passesMs = 0;    ///< The MLIR pipeline.
  double translateMs = 0; ///< LLVM dialect to LLVM IR.
  double optimizeMs = 0;  ///< LLVM IR passes.
  double codegenMs = 0;   ///< LLVM IR to machine code.
  double linkMs = 0;      ///< Object to callable address.
  double deviceMs = 0;    ///< Kernels of a GPU to code that it has loaded.
  double totalMs = 0;
};

namespace detail {
struct KernelCode;
} // namespace detail

/// A compiled kernel. Copies share the code; the code lives as long as any
/// copy, also after its Engine is gone. `run` may be called from several
/// threads at once. Copied, never moved from, so that every Kernel can be
/// called.
class ATTN_EXPORT Kernel {
public:
  Kernel(const Kernel &) = default;
  Kernel &operator=(const Kernel &) = default;

  const Signature &signature() const;
  /// The lowering that it was compiled with; see CompileOptions.
  const std::string &pipeline() const;
  const CompileStats &stats() const;
  /// What the compiler says of a kernel that it made: where it is slower than
  /// its text lets expect, at what place in the text, why, and what to write
  /// instead (docs/remarks.md). From a cache, the same. What it says of few
  /// queries alone is there after `prepare`.
  const std::vector<Diagnostic> &remarks() const;

  /// Compiles what has not been needed yet, so that no call does. A kernel of a
  /// dynamic number of queries has code for many, and other code for few, such
  /// as the one of a step of decoding. That is compiled by the first call with
  /// few, in all of its sequences or in some, or here. An error if it cannot be
  /// compiled, as from that call.
  Status prepare();
  /// The same of what a call with these arguments needs. False if that was
  /// there.
  Expected<bool> prepare(std::span<const Argument> arguments) const;

  /// Sizes of every result for these arguments: what the caller must provide.
  /// Errors as for `run`.
  Expected<std::vector<std::vector<std::int64_t>>>
  resultShapes(std::span<const Argument> arguments) const;

  /// Runs the kernel: reads `arguments`, in function order, and writes
  /// `results`. Before anything runs or is written, every argument is checked:
  /// count, kind, element type, rank, sizes, agreement of sizes among
  /// arguments, contiguous last dimension, alignment, null, and that no result
  /// overlaps an argument, itself or another result; but a result that updates
  /// an argument must be the same view as that. An error names the argument,
  /// what was expected and what came.
  ///
  /// A check that only the kernel can make (such as an index loaded from a
  /// tensor that leads outside another) also ends in an error; the contents of
  /// `results` are then unspecified.
  ///
  /// A kernel of pipeline "gpu" runs on copies of the tensors, in memory that
  /// is allocated for the call: see `launch`.
  Status run(std::span<const Argument> arguments,
             std::span<const TensorView> results) const;
  Status run(std::initializer_list<Argument> arguments,
             std::initializer_list<TensorView> results) const {
    return run(std::span(arguments.begin(), arguments.size()),
               std::span(results.begin(), results.size()));
  }

  /// Starts a kernel of pipeline "gpu" on tensors in the GPU's memory, and
  /// returns. `stream` is a CUstream or cudaStream_t of the GPU's primary
  /// context, which is the one of CUDA's runtime and of PyTorch; null is the
  /// default stream. The tensors and a copy of this kernel must live until it
  /// is done.
  ///
  /// Checks are those of `run`; nothing is read or written here. The driver's
  /// refusal to launch is an error with its text. What goes wrong while the
  /// kernel runs is an error of whatever next waits for the stream.
  Status launch(std::span<const Argument> arguments,
                std::span<const TensorView> results, void *stream) const;
  Status launch(std::initializer_list<Argument> arguments,
                std::initializer_list<TensorView> results, void *stream) const {
    return launch(std::span(arguments.begin(), arguments.size()),
                  std::span(results.begin(), results.size()), stream);
  }

private:
  friend class Engine;
  explicit Kernel(std::shared_ptr<const detail::KernelCode> code,
                  CompileStats stats);
  std::shared_ptr<const detail::KernelCode> code;
  CompileStats compileStats;
  std::vector<Diagnostic> compileRemarks;
};

} // namespace attn

#endif // ATTN_KERNEL_H

//===- ranks.h - Kernels of several processes -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RANKS_H
#define ATTN_RANKS_H

#include "attn/engine.h"
#include "attn/error.h"
#include "attn/export.h"
#include "attn/kernel.h"
#include "attn/tensor_view.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

namespace mpi {
class Communicator;
} // namespace mpi

struct RanksOptions {
  /// Path of the MPI library. Empty: the one that the process has loaded, or
  /// the one whose mpirun started it. Open MPI 4, MPICH 3.4 and later, and what
  /// has MPICH's ABI.
  std::string library;
  /// How long a rank waits for another one, in seconds. What is not there by
  /// then is an error that names the rank, after which no rank can be called
  /// again.
  double timeLimit = 120;
  /// The engines of all ranks have one cache directory: rank 0 compiles first,
  /// and the others find there what it compiled.
  bool sharesCache = false;
};

/// What a message between ranks that all send takes: `latency` seconds, and as
/// long as its bytes take. That of the slowest ones, as it was when they met.
struct RankLink {
  double latency = 0, bytesPerSecond = 0;
};

/// How a tensor is split.
struct Shard {
  static constexpr std::int64_t whole = -1;
  /// For each dimension, the axis of the grid of ranks that splits it, or
  /// `whole`. Empty for a scalar.
  std::vector<std::int64_t> axes;
  /// Of dimension `inPieces`, the rows, the rank `r` of the `n` along their
  /// axis has two pieces, one after the other: `r` and `2 n - 1 - r` of `2 n`.
  /// If their number is odd, the first one has one more.
  bool zigzag = false;
  /// The sizes of what dimension `inPieces` is made of, one after the other, as
  /// the columns of a fused weight are: a rank has a piece of each. Empty: it
  /// is one.
  std::vector<std::int64_t> segments;
  /// The dimension of which a rank has several pieces, if there is one.
  std::size_t inPieces = 2;

  bool isWhole() const {
    for (std::int64_t axis : axes)
      if (axis != whole)
        return false;
    return true;
  }
};

/// What each of several ranks runs. Arguments and results of the kernel are
/// parts of those of the text, which `signature` is of; what is not split is
/// whole on every rank. All ranks call it at the same time: each waits for the
/// others.
struct RankKernel {
  Kernel kernel;
  Signature signature;
  /// Sizes of the grid; its last axis counts fastest.
  std::vector<std::int64_t> grid;
  std::vector<Shard> arguments, results;
  /// The function of a rank, as text that `Engine::compile` takes.
  std::string text;
  /// Where what ranks do is slower than the text suggests; `kernel` has its
  /// own.
  std::vector<Diagnostic> remarks;

  /// The pieces of `whole` that `rank` has, one after the other, if all have
  /// pieces of equal sizes, or of sizes that differ by 1: views into it, one
  /// of them unless the shard is in zig-zag order or has segments.
  ATTN_EXPORT std::vector<TensorView>
  pieces(const Shard &shard, const TensorView &whole, int rank) const;

  /// Sizes of the part that these pieces make.
  ATTN_EXPORT std::vector<std::int64_t>
  partSizes(const Shard &shard, const TensorView &whole, int rank) const;

  /// Copies them into `part`, of these sizes. Both have a last dimension that
  /// is contiguous.
  ATTN_EXPORT void copyPart(const Shard &shard, const TensorView &whole,
                            int rank, const TensorView &part) const;

  /// Sizes of the results of the whole, for arguments of the whole.
  ATTN_EXPORT Expected<std::vector<std::vector<std::int64_t>>>
  resultShapes(std::span<const Argument> arguments) const;
};

/// The processes of MPI_COMM_WORLD. Copies share one. If the host has not
/// called MPI_Init, creating it does, and destroying the last copy ends MPI;
/// else the host must not call MPI on another thread while a kernel runs,
/// unless it asked for MPI_THREAD_SERIALIZED or more. With less than that,
/// messages move only while a kernel waits for them. Blocks are exchanged by a
/// copy of MPI_COMM_WORLD, on which errors return.
///
/// A process that crashes is ended with all others by its mpirun. Kernels of
/// several ranks are called by one thread at a time.
class ATTN_EXPORT Ranks {
public:
  /// All ranks of MPI_COMM_WORLD create theirs, as MPI_Init and MPI_Comm_dup
  /// wait for all of them. Where a copy lives, it is given, and the options
  /// are those of that. Errors start with "no MPI: " where there is none.
  static Expected<Ranks> create(const RanksOptions &options = {});

  int rank() const;
  int size() const;
  /// Zeros where there is one rank.
  RankLink link() const;
  /// As the library says it, "Open MPI v4.1.4, ...".
  const std::string &library() const;

  /// Compiles what this rank runs of a function whose query, key and value are
  /// annotated with `shard.shard` (docs/sharding.md), or, with `split`, are to
  /// be split so: "batch", "heads", "sequence" (rows of queries and keys),
  /// "zigzag" (the same in zig-zag order) or "keys". With "sequence", they are
  /// in zig-zag order too where the masks leave ranks with different work
  /// otherwise, as a causal one does: `RankKernel::arguments` says which it is.
  /// "ring" and "gather" are "sequence", and "ulysses" is rows in their order,
  /// with that exchange of keys, which otherwise the plan chooses.
  /// An error on all ranks if these differ in text, options, version of Attn
  /// or processor.
  Expected<RankKernel> compile(const Engine &engine, std::string_view text,
                               const CompileOptions &options = {},
                               std::string_view split = {}) const;

  /// Puts a result together on rank 0, from the parts of all ranks, into
  /// `whole`, of which they are what `RankKernel::pieces` gives;
  /// `whole` counts there alone.
  Status collect(const RankKernel &kernel, std::size_t result,
                 const TensorView &part, const TensorView &whole) const;

  /// Returns when all ranks have come here.
  Status meet() const;

  /// What this rank sent to others so far, in bytes.
  std::uint64_t bytesSent() const;

  /// Ends the processes of all ranks, by MPI_Abort: after an error of one of
  /// them, others would wait for their time limit.
  void abort(int code) const;

private:
  Ranks(std::shared_ptr<mpi::Communicator> communicator, bool sharesCache);
  std::shared_ptr<mpi::Communicator> communicator;
  bool sharesCache;
};

} // namespace attn

#endif // ATTN_RANKS_H

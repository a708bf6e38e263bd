//===- Ring.h - Blocks of keys and values of other ranks --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MPI_RING_H
#define ATTN_RUNTIME_MPI_RING_H

#include "runtime/MPI/Rows.h"

#include <array>
#include <cstdint>
#include <memory>

namespace attn::mpi {

/// A table of index as generated code describes it.
struct Table {
  const std::int64_t *allocated, *data;
  std::int64_t offset;
  std::array<std::int64_t, 2> sizes, strides;
};

/// The steps of one call of a kernel. There is one ring in a process: kernels
/// of several threads would have to agree on their order with other ranks, and
/// get an error.
class Ring {
public:
  explicit Ring(Communicator &communicator) : communicator(communicator) {}

  /// What attn.rank_block does, for elements of so many bytes. `rows` is what
  /// the kernel takes to come.
  Status getBlock(std::int64_t step, std::int64_t rows, Group group,
                  const Table &spans, std::size_t elementBytes, const Rows &key,
                  const Rows &value, Rows &keys, Rows &values);

  /// What attn.rank_sums does, of the block that `getBlock` gave last, for
  /// elements of f32 or f64 of so many bytes: of keys and of values.
  Status addSums(std::int64_t step, std::size_t elementBytes,
                 const std::array<Rows, 2> &block,
                 const std::array<Rows, 2> &sums);

private:
  struct Buffer {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };

  Status begin(Group group, const Table &spans, std::size_t elementBytes,
               const Rows &key, const Rows &value);
  Status start(std::int64_t step);
  std::vector<Span> getSpans(std::int64_t step, bool comes) const;
  static std::int64_t countRows(const std::vector<Span> &spans);
  std::int64_t getPeer(std::int64_t step, bool comes) const;
  /// Memory for the rows of a step, contiguous.
  Status describeBuffer(const Rows &like, std::int64_t count, Buffer &buffer,
                        Rows &rows);

  Status finishSums(const std::array<Rows, 2> &sums);
  void addAll(const std::array<std::vector<std::byte>, 2> &packed,
              const std::array<Rows, 2> &sums,
              const std::vector<Span> &spans) const;

  std::mutex mutex;
  Communicator &communicator;
  Group group{1, 1};
  std::int64_t nextStep = 0;
  /// Of each step, four numbers for each piece.
  std::vector<std::int64_t> spans;
  std::size_t numPieces = 1;
  std::size_t elementBytes = 0;
  Rows key, value;
  Transfer transfer;
  /// Of keys and of values, for a step that is computed and the next one.
  std::array<std::array<Buffer, 2>, 2> buffers;
  std::array<std::array<Rows, 2>, 2> blocks;
  /// Rows that do not lie together in memory, to send.
  std::vector<std::byte> packed;
  /// Sums that are on their way: of which step and of what elements, those of a
  /// block, and those of rows of this rank.
  Transfer returning;
  std::int64_t returningStep = 0;
  std::size_t sumBytes = 0;
  std::array<std::vector<std::byte>, 2> returned, cameBack;
};

} // namespace attn::mpi

#endif // ATTN_RUNTIME_MPI_RING_H

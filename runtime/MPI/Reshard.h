//===- Reshard.h - Tensors that are distributed again -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MPI_RESHARD_H
#define ATTN_RUNTIME_MPI_RESHARD_H

#include "runtime/MPI/Rows.h"

#include <span>

namespace attn::mpi {

/// Those of attn.reshard, by the same numbers.
enum class Reshard : std::int64_t {
  RowsToHeads,
  HeadsToRows,
  RowsToWhole,
  WholeToRows
};

/// What attn.reshard does, for elements of so many bytes. `bounds` says where
/// pieces of the rows begin, and where the last one ends.
Status reshard(Communicator &communicator, Group group, Reshard kind,
               std::span<const std::int64_t> bounds, std::size_t elementBytes,
               const Rows &part, const Rows &result);

} // namespace attn::mpi

#endif // ATTN_RUNTIME_MPI_RESHARD_H

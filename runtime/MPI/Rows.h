//===- Rows.h - Tensors whose rows ranks exchange ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MPI_ROWS_H
#define ATTN_RUNTIME_MPI_ROWS_H

#include "runtime/MPI/Communicator.h"

#include <array>
#include <cstdint>
#include <vector>

namespace attn::mpi {

/// A tensor (B, H, S, D) as generated code describes a buffer of rank 4.
struct Rows {
  std::byte *allocated, *data;
  std::int64_t offset;
  std::array<std::int64_t, 4> sizes, strides;
};

/// Where a row begins, of elements of so many bytes.
std::byte *addressOf(const Rows &rows, std::size_t elementBytes, std::int64_t b,
                     std::int64_t h, std::int64_t row);

/// Some rows, or heads.
struct Span {
  std::int64_t first, count;
};

/// Adds a message for each batch entry and each of some heads: of these rows,
/// which are copied to the end of `packed`, where there is room for them, if
/// they do not lie together.
void addPieces(std::vector<Piece> &pieces, const Rows &rows,
               std::size_t elementBytes, Span heads, Span span,
               std::vector<std::byte> &packed);

} // namespace attn::mpi

#endif // ATTN_RUNTIME_MPI_ROWS_H

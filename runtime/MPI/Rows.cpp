//===- Rows.cpp - Tensors whose rows ranks exchange -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/MPI/Rows.h"

#include <cstring>

using namespace attn;
using namespace attn::mpi;

std::byte *mpi::addressOf(const Rows &rows, std::size_t elementBytes,
                          std::int64_t b, std::int64_t h, std::int64_t row) {
  std::int64_t element = rows.offset + b * rows.strides[0] +
                         h * rows.strides[1] + row * rows.strides[2];
  return rows.data + element * std::int64_t(elementBytes);
}

void mpi::addPieces(std::vector<Piece> &pieces, const Rows &rows,
                    std::size_t elementBytes, Span heads, Span span,
                    std::vector<std::byte> &packed) {
  if (span.count == 0)
    return;
  std::size_t rowBytes = std::size_t(rows.sizes[3]) * elementBytes,
              bytes = std::size_t(span.count) * rowBytes;
  bool liesTogether = rows.strides[2] == rows.sizes[3] || span.count == 1;
  for (std::int64_t b = 0; b < rows.sizes[0]; ++b)
    for (std::int64_t h = heads.first; h < heads.first + heads.count; ++h) {
      std::byte *from = addressOf(rows, elementBytes, b, h, span.first);
      if (liesTogether) {
        pieces.push_back({from, bytes});
        continue;
      }
      // There is room for all: nothing moves.
      std::byte *to = packed.data() + packed.size();
      packed.resize(packed.size() + bytes);
      pieces.push_back({to, bytes});
      for (std::int64_t row = 0; row < span.count; ++row)
        std::memcpy(to + std::size_t(row) * rowBytes,
                    addressOf(rows, elementBytes, b, h, span.first + row),
                    rowBytes);
    }
}

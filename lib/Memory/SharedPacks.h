//===- SharedPacks.h - Packs that tiles read ranges of ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_SHAREDPACKS_H
#define ATTN_MEMORY_SHAREDPACKS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace mlir::attn {

/// Packs of all heads, `(..., N, D, 32)`: the loop that fills them, and the one
/// with the tiles that read some of one head.
struct SharedPacks {
  memref::AllocOp buffer;
  scf::ForallOp packing, tiles;
  memref::SubViewOp destination;              ///< Of a pack, in `packing`.
  memref::SubViewOp head;                     ///< `(N, D, 32)`, in `tiles`.
  memref::SubViewOp range;                    ///< What a tile sees of the head.
  SmallVector<memref::SubViewOp> blocks;      ///< Of the range.
  SmallVector<memref::PrefetchOp> prefetches; ///< Of packs of the head.
  SmallVector<memref::DimOp> lengths;         ///< Of the head, N.
  int64_t packsPerBlock = 0;                  ///< At most.

  /// The packs in `buffer`, if nothing else reads them, and where the range of
  /// a tile begins is computed by the tile.
  static std::optional<SharedPacks> match(memref::AllocOp buffer);

  /// Whether a loop packs `buffer`, and tiles read blocks that begin where they
  /// compute it, but not through a view of what a tile sees of its head:
  /// `match` does not know them.
  static bool areReadOtherwise(memref::AllocOp buffer);

  /// Dimensions of batch and heads.
  unsigned numLeading() { return buffer.getType().getRank() - 3; }

private:
  bool matchBuffer();
  bool matchHead();
  bool matchRange();
};

} // namespace mlir::attn

#endif // ATTN_MEMORY_SHAREDPACKS_H

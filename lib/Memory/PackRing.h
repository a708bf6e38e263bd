//===- PackRing.h - Packs that a thread keeps ---------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_PACKRING_H
#define ATTN_MEMORY_PACKRING_H

#include "lib/Memory/SharedPacks.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Packs of one head that a thread keeps from tile to tile, in which pack `p`
/// is at `p mod capacity`. Those that do not fit any more give way to new ones.
struct PackRing {
  Value buffer, capacity;
  Value low, high; ///< What it lacks of what a tile sees, [low, high).
  Value start;     ///< The place of the first pack that the tile sees.

  /// For a tile, at the insertion point in it, that sees `count` packs of
  /// `packs.head` from `first` on. What it lacks has to be put into it.
  static PackRing emit(ImplicitLocOpBuilder &b, SharedPacks &packs, Value first,
                       Value count);

  /// The place of the pack that is `offset` after the first, at most
  /// `capacity`.
  Value emitSlot(ImplicitLocOpBuilder &b, Value offset) const;
};

} // namespace mlir::attn

#endif // ATTN_MEMORY_PACKRING_H

//===- PackPlan.h - Where packs are made ------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_PACKPLAN_H
#define ATTN_PLAN_PACKPLAN_H

#include "lib/Plan/CacheModel.h"

#include <cstdint>
#include <optional>

namespace mlir::attn {

/// Where packs are made of what tiles read.
enum class Packs {
  block,  ///< In each block that reads them.
  shared, ///< In a parallel loop before that over tiles, for all of them.
  kept, ///< In the tiles, each of which keeps them for the next of its thread.
};

/// Packs of the rows of a projection, of numbers of `bits`: those of a tile
/// have `tileBytes`, and all of them `allBytes`, if that is known. `hasOneLoop`
/// tells whether one parallel loop over tiles of rows reads them.
Packs choosePacksOfRows(int64_t bits, int64_t tileBytes,
                        std::optional<int64_t> allBytes, bool hasOneLoop,
                        const CacheModel &model);

/// Packs of the values of attention in pairs. `isReadOnce` tells whether no
/// other tile reads them, `movesOn` whether what a tile sees of a head begins
/// further on for later tiles.
Packs choosePacksOfValues(bool isReadOnce, bool movesOn);

} // namespace mlir::attn

#endif // ATTN_PLAN_PACKPLAN_H

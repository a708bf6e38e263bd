//===- TileSizes.h - Into what blocks attention is cut ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_TILESIZES_H
#define ATTN_PLAN_TILESIZES_H

#include <algorithm>
#include <cstdint>

namespace mlir::attn {

/// Of a CPU.
constexpr int64_t kCacheLineBytes = 64;

/// Of rows of a projection's tile, which stay in the second-level cache while
/// all panels of the weight go by, as do two of those and the sums of one.
constexpr int64_t kMostPackBytes = 5 << 18;

/// The blocks of kernels for a CPU, in rows of queries and in keys.
struct TileSizes {
  /// Queries of a tile in f32 without a score or mask region, and of others.
  int64_t plainQueries, variantQueries;
  int64_t keys;
  /// Keys of a chunk, where those of a tile are computed in parallel.
  int64_t chunk;

  static TileSizes forVectors(unsigned vectorBits) {
    int64_t lanes = vectorBits / 32;
    // Of narrow vectors, enough queries to make use of the keys and values once
    // loaded. Scores, keys and values of a block fit into the first-level
    // cache.
    return {.plainQueries = std::max<int64_t>(4 * lanes, 32),
            .variantQueries = std::max<int64_t>(2 * lanes, 16),
            .keys = 64,
            // So many that merging takes no time to speak of.
            .chunk = 1024};
  }
};

} // namespace mlir::attn

#endif // ATTN_PLAN_TILESIZES_H

//===- TileSizes.h - Sizes of caches that tiles fit into --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_TILESIZES_H
#define ATTN_PLAN_TILESIZES_H

#include <cstdint>

namespace mlir::attn {

/// Of a CPU.
constexpr int64_t kCacheLineBytes = 64;

/// Of rows of a projection's tile, which stay in the second-level cache while
/// all panels of the weight go by, as do two of those and the sums of one.
constexpr int64_t kMostPackBytes = 5 << 18;

} // namespace mlir::attn

#endif // ATTN_PLAN_TILESIZES_H

//===- Warps.h - Shape of a warp and of what it computes --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_WARPS_H
#define ATTN_GPU_WARPS_H

#include <cstdint>

namespace mlir::attn {

/// Threads of a warp, and the rows that one of its products has.
constexpr int64_t kLanesOfWarp = 32, kRowsOfWarp = 16;

} // namespace mlir::attn

#endif // ATTN_GPU_WARPS_H

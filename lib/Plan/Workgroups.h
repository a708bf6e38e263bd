//===- Workgroups.h - What workgroups of a GPU compute ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_WORKGROUPS_H
#define ATTN_PLAN_WORKGROUPS_H

#include <cstdint>

namespace mlir::attn {

/// Threads of a warp, and the rows that one of its products has.
constexpr int64_t kLanesOfWarp = 32, kRowsOfWarp = 16;

/// Rows of a workgroup's tile, those of four warps, and as many keys of a
/// block: two of these, the queries and the output fit registers and workgroup
/// memory for heads of 128 elements.
constexpr int64_t kRowsOfWorkgroup = 4 * kRowsOfWarp;

/// Workgroups that parts of keys are computed by, four for each multiprocessor
/// of a large GPU; and about as many keys as a part has at least: another one
/// would cost more than it saves.
inline constexpr int64_t kWorkgroups = 512, kLeastKeysOfPart = 256;

} // namespace mlir::attn

#endif // ATTN_PLAN_WORKGROUPS_H

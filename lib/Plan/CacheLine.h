//===- CacheLine.h - The size of a cache line ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_CACHELINE_H
#define ATTN_PLAN_CACHELINE_H

#include <cstdint>

namespace mlir::attn {

/// Of a CPU.
constexpr int64_t kCacheLineBytes = 64;

} // namespace mlir::attn

#endif // ATTN_PLAN_CACHELINE_H

//===- KeptBuffers.h - Buffers from one iteration to the next ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_KEPTBUFFERS_H
#define ATTN_KERNEL_KEPTBUFFERS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// A unit attribute of a `memref.alloc` in an iteration of a parallel loop:
/// what the iteration before left in the buffer, on the same thread, may be
/// found there. Only constants that are stored right after the allocation are
/// stored for a thread's first iteration alone. What is computed must not
/// depend on whether there was an iteration before.
inline constexpr StringRef kKeptAttribute = "attn.kept";

inline bool isKeptBuffer(memref::AllocOp alloc) {
  return alloc->hasAttr(kKeptAttribute);
}
inline void keepBuffer(Value buffer) {
  Operation *alloc = buffer.getDefiningOp<memref::AllocOp>();
  alloc->setAttr(kKeptAttribute, UnitAttr::get(alloc->getContext()));
}

} // namespace mlir::attn

#endif // ATTN_KERNEL_KEPTBUFFERS_H

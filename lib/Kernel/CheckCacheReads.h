//===- CheckCacheReads.h - Masks that keep absent rows ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_CHECKCACHEREADS_H
#define ATTN_KERNEL_CHECKCACHEREADS_H

#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Emits a check that the mask of an attention keeps no absent row of a cache
/// that its key or value reads (C12). Nothing if they read none, and for other
/// ops.
void checkCacheReads(
    OpBuilder &builder, Operation *op,
    function_ref<std::string(Operation *, StringRef)> describe);

} // namespace mlir::attn

#endif // ATTN_KERNEL_CHECKCACHEREADS_H

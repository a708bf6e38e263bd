//===- OnlinePacks.h - Values of online attention in packs ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ONLINE_ONLINEPACKS_H
#define ATTN_DIALECT_ONLINE_ONLINEPACKS_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Whether the values of `op` are in packs, which several tiles share.
inline bool hasPacks(OnlineAttentionOp op) {
  return cast<ShapedType>(op.getValue().getType()).getRank() == 3;
}

} // namespace mlir::attn

#endif // ATTN_DIALECT_ONLINE_ONLINEPACKS_H

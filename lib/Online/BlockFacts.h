//===- BlockFacts.h - What a block of keys is before its scores -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_BLOCKFACTS_H
#define ATTN_ONLINE_BLOCKFACTS_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

class OnlineAttentionOp;

/// What is known of a block of keys before its scores are, each an i1.
struct BlockFacts {
  Value isEmpty;   ///< The mask keeps nothing; null if never.
  Value isPartial; ///< It may not keep everything.
  Value isDefined; ///< The regions have values everywhere.
};

/// Asks the mask analysis about the positions and keys of `op`.
BlockFacts emitBlockFacts(OpBuilder &builder, OnlineAttentionOp op);

} // namespace mlir::attn

#endif // ATTN_ONLINE_BLOCKFACTS_H

//===- Exchange.h - How a rank comes to the keys of others ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_EXCHANGE_H
#define ATTN_SHARDING_EXCHANGE_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/Extents.h"
#include "lib/Sharding/Splits.h"

namespace mlir::attn {

/// What `attn.exchange` of an attention says: `kRing` without it.
StringRef getExchange(Operation *op);

/// Fails, with an error, where it says what an op has no code for.
template <typename Op>
LogicalResult verifyExchange(Op op, const Splits &splits);

/// The results of an attention for the rows of a rank, whose rows of query and
/// of key are split along one axis, by `exchange`.
SmallVector<Value> emitExchange(IndexBuilder &b, AttentionOp whole,
                                StringRef exchange,
                                const AttentionExtents &extents);

} // namespace mlir::attn

#endif // ATTN_SHARDING_EXCHANGE_H

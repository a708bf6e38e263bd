//===- BlockToVector.h - Attention of a block as vectors --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ONLINETOVECTOR_BLOCKTOVECTOR_H
#define ATTN_CONVERSION_ONLINETOVECTOR_BLOCKTOVECTOR_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Emits the attention of one block of at most `keys` keys; query and state of
/// `op` are vectors. Returns the state after it. Emits an error for regions
/// that have no form for vectors.
FailureOr<SmallVector<Value>> emitBlock(OpBuilder &builder,
                                        OnlineAttentionOp op, int64_t keys);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ONLINETOVECTOR_BLOCKTOVECTOR_H

//===- OnlineForm.h - Attention of a tile in its online form ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_ONLINEFORM_H
#define ATTN_ONLINE_ONLINEFORM_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Emits the online form of the attention of at most `lanes` queries of one
/// head, for matrix units, without what follows it. `op` stays.
OnlineAttentionOp emitOnlineInMatrices(OpBuilder &builder, AttentionOp op,
                                       int64_t lanes);

} // namespace mlir::attn

#endif // ATTN_ONLINE_ONLINEFORM_H

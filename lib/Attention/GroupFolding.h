//===- GroupFolding.h - Query heads as rows of one head ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_GROUPFOLDING_H
#define ATTN_ATTENTION_GROUPFOLDING_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// Emits `op`, of one sequence, on rows that are the queries of all heads that
/// share keys and values: row `i * G + g` is query `i` of head `g` of its group
/// of G. It writes into empty tensors. What regions are given stays the same.
AttentionOp emitFoldedGroups(OpBuilder &builder, AttentionOp op);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_GROUPFOLDING_H

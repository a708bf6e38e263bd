//===- OnlineQuery.h - Queries of a tile in their online form ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_ONLINEQUERY_H
#define ATTN_ONLINE_ONLINEQUERY_H

#include "dialect/AttnOps.h"
#include "lib/Plan/Plan.h"

namespace mlir::attn {

/// Whether queries are multiplied by the scale: not if it would round them,
/// nor if nothing needs the scores before their exponentials, which multiply
/// by a power of 2 at no cost.
bool scalesQuery(AttentionOp op, OnlineLayout layout);

/// Emits the query operand of attn.online_attention in `layout`: the first
/// `rows` queries of the only head of `op`, and 0 in the others of `numRows`.
Value emitOnlineQuery(OpBuilder &b, AttentionOp op, OnlineLayout layout,
                      int64_t numRows, OpFoldResult rows);

} // namespace mlir::attn

#endif // ATTN_ONLINE_ONLINEQUERY_H

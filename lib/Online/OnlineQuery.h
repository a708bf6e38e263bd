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

/// A scale of scores that can be part of the exponent's factor, so that these
/// stay as the product left them. It is at most ln 2, with which no score
/// overflows, and so large that a difference of scores overflows only if its
/// weight is 0.
std::optional<double> findFusedScale(OnlineAttentionOp op);

/// Emits the query operand of attn.online_attention in `layout`: the first
/// `rows` queries of the only head of `op`, and 0 in the others of `numRows`.
Value emitOnlineQuery(OpBuilder &b, AttentionOp op, OnlineLayout layout,
                      int64_t numRows, OpFoldResult rows);

} // namespace mlir::attn

#endif // ATTN_ONLINE_ONLINEQUERY_H

//===- ExchangeModel.h - How long ways to exchange keys take ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_EXCHANGEMODEL_H
#define ATTN_SHARDING_EXCHANGEMODEL_H

#include "dialect/AttnOps.h"
#include "lib/Sharding/RankLoads.h"

namespace mlir::attn {

/// What the model knows of ranks, in seconds and bytes.
struct RankSpeeds {
  /// Of attention on one rank, floating-point operations per second.
  double flops;
  /// Of an attention besides these, and bytes per second of what is merged.
  double kernel, memory;
  double latency, bandwidth;
  /// Of an exchange besides its messages.
  double step;
  /// Cores that compute copy messages.
  bool isShared;
};

/// What each way to exchange keys takes, in seconds, and the bytes of the keys
/// and values of all ranks.
struct ExchangeTimes {
  double ring, gather, ulysses;
  double bytesOfKeys;
};

/// Of an attention of these sizes, on as many ranks as `loads` are of.
ExchangeTimes computeExchangeTimes(AttentionOp op, const RankLoads &loads,
                                   const RankSpeeds &speeds);

/// Those of this op's target and of a link.
RankSpeeds getRankSpeeds(AttentionOp op, LinkAttr link);

} // namespace mlir::attn

#endif // ATTN_SHARDING_EXCHANGEMODEL_H

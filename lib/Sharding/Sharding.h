//===- Sharding.h - Functions of one rank -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_SHARDING_H
#define ATTN_SHARDING_SHARDING_H

#include "lib/Sharding/Annotations.h"

#include <optional>
#include <vector>

namespace mlir::attn {

/// What of a function's arguments and results a rank has.
struct FunctionShards {
  RankGrid grid;
  /// Of each argument and result; empty for a scalar.
  std::vector<TensorSplit> arguments, results;
};

/// Makes `func` the function that each of `ranks` ranks runs, 0 if the grid
/// says how many. Without annotations it stays, and all of its tensors are
/// whole. Errors name what is not covered.
FailureOr<FunctionShards> makeLocal(func::FuncOp func, int64_t ranks);

/// What a message takes between ranks, in seconds and bytes per second.
struct MeasuredLink {
  double latency, bandwidth;
  /// Between ranks of one machine.
  bool isShared;
};

/// Says of attention whose rows are split how each of `ranks` ranks comes to
/// the keys of others, 0 if the grid says how many: what takes the least time
/// by a model of `attn.target` and of the grid's `attn.link`, or what was
/// measured if it has none. Where it is said, it stays.
LogicalResult planExchanges(func::FuncOp func, int64_t ranks,
                            std::optional<MeasuredLink> measured,
                            bool explains = false);

} // namespace mlir::attn

#endif // ATTN_SHARDING_SHARDING_H

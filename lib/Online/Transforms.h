//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_TRANSFORMS_H
#define ATTN_ONLINE_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

class AttentionOp;
class OnlineAttentionOp;
class SharedOperands;

/// Replaces the attention of at most `maximumLanes` queries of one head by its
/// online form, on a number of lanes that is a multiple of `laneMultiple`. That
/// is in f32, with keys and values of f16 and bf16 from `shared`; with
/// `inPairs`, that of bf16 is in pairs where it can be, and with `inMatrices`
/// all is in `OnlineLayout::Mma`, with queries as they are.
LogicalResult convertAttentionToOnline(RewriterBase &rewriter, AttentionOp op,
                                       int64_t maximumLanes,
                                       int64_t laneMultiple, bool inPairs,
                                       bool inMatrices, SharedOperands &shared);

/// Tiles the keys that the mask may keep into blocks.
LogicalResult tileKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                       int64_t block);

/// How keys of i8 are multiplied.
struct ScoreOptions {
  /// As integers, with queries that are rounded to i8, where `i8Dot` allows it.
  bool quantizeQueries = false;
  /// Numbers of i8 that a dot product of the target takes; 0: it has none.
  int64_t i8Dot = 0;
  /// Products of pairs are in AMX tiles, which can begin at zero.
  bool bf16Tiles = false;
};

/// Replaces the attention of one block of keys by contractions and a softmax
/// step. Fails if the number of keys has no constant bound.
LogicalResult decomposeOnline(RewriterBase &rewriter, OnlineAttentionOp op,
                              const ScoreOptions &options);

} // namespace mlir::attn

#endif // ATTN_ONLINE_TRANSFORMS_H

//===- AttentionPlan.h - How attention is cut and laid out ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the decisions that several passes have to agree on. Each pass asks for
// its own; `planAttention` says what they come to for an op that no pass has
// changed yet, which is what a picture of its blocks shows.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_ATTENTIONPLAN_H
#define ATTN_PLAN_ATTENTIONPLAN_H

#include "dialect/AttnOps.h"
#include "lib/Plan/TileSizes.h"

namespace mlir::attn {

struct TargetDescription;

/// Whether only the reference path lowers `op`, whatever its sizes are.
bool needsReferenceLowering(AttentionOp op);

/// The most query rows of a head that one tile takes where it takes all of
/// them. Only `plainQueries` and `variantQueries` of `sizes` count.
int64_t getMostOfOneTile(AttentionOp op, const TileSizes &sizes);

/// The query rows of a tile of `op`; a head may have fewer. With `inPairs`,
/// bf16 is multiplied in pairs where it can be. Only `plainQueries` and
/// `variantQueries` of `sizes` count.
int64_t chooseQueries(AttentionOp op, const TileSizes &sizes, bool inPairs);

/// The elements that rows of queries and keys of `op` are padded to: a multiple
/// of `multiple`, where rows are multiplied in pairs and not on their own with
/// vectors of `lanes`.
int64_t chooseHeadSize(AttentionOp op, int64_t lanes, int64_t multiple);

/// The layout of a tile of `op` for vectors of `lanes`, which is also that of a
/// whole op that is tiled.
OnlineLayout chooseLayout(AttentionOp op, int64_t lanes, bool inPairs);

/// The keys of a block, where one that nothing makes smaller has `most`: of
/// keys and values of `type`, with so many elements in a row.
int64_t chooseKeys(OnlineLayout layout, Type type, int64_t keySize,
                   int64_t valueSize, int64_t most);

/// What a kernel for a CPU makes of an attn.attention.
struct AttentionPlan {
  /// Query heads in a tile: those that share keys and values, or one.
  int64_t heads;
  /// Queries of each of them in a tile. The first tile may have fewer.
  int64_t queries;
  /// Keys of a block, unless they are read from a cache.
  int64_t keys;
  OnlineLayout layout;
};

/// The plan of `op`, which no pass has changed, for `length` queries of a head
/// or, of a packed batch, of a sequence.
AttentionPlan planAttention(AttentionOp op, int64_t length,
                            const TargetDescription &target);

} // namespace mlir::attn

#endif // ATTN_PLAN_ATTENTIONPLAN_H

//===- Plan.h - How kernels compute ops -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the decisions that several passes have to agree on, once: `attn-plan`
// attaches them to ops as `attn.plan`, and every pass after it reads them
// there.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_PLAN_H
#define ATTN_PLAN_PLAN_H

#include "dialect/Plan/Target.h"
#include "lib/Plan/CacheModel.h"

#include <optional>

namespace mlir::attn {

/// Why only the reference path lowers `op`, whatever its sizes are; empty if
/// kernels compute it.
StringRef findObstacle(AttentionOp op);

/// Chunks of keys begin at multiples of it, as the blocks of keys do that never
/// leave a page, and packs of values.
inline constexpr int64_t kChunkUnit = 256;

/// Threads of a warp, and the rows that one of its products has.
inline constexpr int64_t kLanesOfWarp = 32, kRowsOfWarp = 16;

/// Rows of a workgroup's tile, those of four warps, and as many keys of a
/// block: two of these, the queries and the output fit registers and workgroup
/// memory for heads of 128 elements.
inline constexpr int64_t kRowsOfWorkgroup = 4 * kRowsOfWarp;

/// Workgroups of a multiprocessor that parts of keys are computed by; and about
/// as many keys as a part has at least: another one would cost more than it
/// saves.
inline constexpr int64_t kPartsOfMultiprocessor = 4, kLeastKeysOfPart = 256;

/// What computes a kernel.
enum class Device { CPU, GPU };

/// The plan of `op`: what its own says, if it has one, and the rest from the
/// target of its module. Fails with an error if the op's own plan cannot be
/// carried out.
FailureOr<PlanAttr> planAttention(AttentionOp op, Device device);
/// The plan of that of its forms for a CPU which computes `length` queries.
FailureOr<PlanAttr> planAttention(AttentionOp op, int64_t length);

/// Of attention with a number of queries that only a call knows: for which
/// numbers of queries, at most, there are forms of their own beside that of
/// many. Of an op whose plan says how queries are cut, one.
SmallVector<int64_t> planFewQueries(AttentionOp op, Device device);

/// Rows that products in `layout<rows>` take at a time, where only a call knows
/// how many positions have rows of `heads` heads: those of one position, or of
/// several if these are too few to make use of a key that is loaded.
int64_t getRowsAtATime(int64_t heads);

/// The plan of a tile that a user has written in its online form: the keys of a
/// block and of a chunk, which may be its own.
FailureOr<PlanAttr> planOnline(OnlineAttentionOp op);

/// Features of a tile of 16 pairs of bf16, 64 bytes.
inline constexpr int64_t kFeaturesPerTile = 32;

/// Columns of the tiles of a result whose columns begin at `first` in the
/// weight, a multiple of `lanes`: each tile lies in one head and one panel.
/// None if there is no such number.
std::optional<int64_t> chooseTileColumns(ProjectionOp op, Value out,
                                         int64_t first, int64_t lanes);

/// Parts of bf16 that a number of the input is the sum of, where it is
/// multiplied in pairs.
int64_t countParts(ProjectionOp op);

/// The same of projections, whose plan is that of many rows.
StringRef findObstacle(ProjectionOp op);
FailureOr<PlanAttr> planProjection(ProjectionOp op);

/// The same of multi-token attention and its gradients, of which only the rows
/// of a tile are planned.
FailureOr<PlanAttr> planMultiToken(MultiTokenAttentionOp op);
FailureOr<PlanAttr> planMultiToken(MultiTokenAttentionBackwardOp op);

/// The same of gradients of attention, on a CPU. An iteration goes over `heads`
/// query heads.
StringRef findObstacle(AttentionBackwardOp op);
FailureOr<PlanAttr> planBackward(AttentionBackwardOp op);

/// The same of tangents of attention, on a CPU.
StringRef findObstacle(AttentionTangentOp op);
FailureOr<PlanAttr> planTangent(AttentionTangentOp op);
/// Where packs are made of what tiles read.
enum class Packs {
  block,  ///< In each block that reads them.
  shared, ///< In a parallel loop before that over tiles, for all of them.
  kept, ///< In the tiles, each of which keeps them for the next of its thread.
};

/// Packs of the rows of a projection, of numbers of `bits`: those of a tile
/// have `tileBytes`, and all of them `allBytes`, if that is known. `hasOneLoop`
/// tells whether one parallel loop over tiles of rows reads them.
Packs choosePacksOfRows(int64_t bits, int64_t tileBytes,
                        std::optional<int64_t> allBytes, bool hasOneLoop,
                        const CacheModel &model);

/// Packs of the values of attention in pairs. `isReadOnce` tells whether no
/// other tile reads them, `movesOn` whether what a tile sees of a head begins
/// further on for later tiles.
Packs choosePacksOfValues(bool isReadOnce, bool movesOn);

/// The plan that `attn-plan` attached to `op`; null if it has none.
PlanAttr getPlan(Operation *op);

/// The same of an op that kernels compute. Null, with a remark, if only the
/// reference path lowers it: because of an `obstacle`, unless that is empty, or
/// without a plan.
PlanAttr getPlanOrRemark(Operation *op, StringRef obstacle);

} // namespace mlir::attn

#endif // ATTN_PLAN_PLAN_H

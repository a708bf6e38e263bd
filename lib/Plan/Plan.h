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

#include "llvm/Support/MathExtras.h"

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

/// Warps of a workgroup that has a tile of many queries; and keys of a block at
/// most: two of these, the queries and the output fit registers and workgroup
/// memory for heads of 128 elements.
inline constexpr int64_t kWarpsOfWorkgroup = 4, kMostKeysOfBlock = 64;

/// The most rows that are few on a GPU: those of one tile with one product's
/// rows in a warp.
inline constexpr int64_t kFewRows = kWarpsOfWorkgroup * kRowsOfWarp;

/// What two groups of four warps multiply, where warps multiply together: rows
/// of a tile, and keys of a block at most; elements of a row of a panel in
/// workgroup memory, and of a head at most.
inline constexpr int64_t kThreadsOfWarpgroup = 4 * kLanesOfWarp,
                         kRowsOfWarpgroups = 2 * kFewRows,
                         kKeysOfWarpgroups = 128, kElementsOfPanel = 64,
                         kMostOfWarpgroups = 128;

/// Whether warpgroups multiply rows of these sizes, of 16 bits, which are
/// panels of 128 bytes in workgroup memory. Of longer heads, registers have no
/// room for output and scores.
inline bool hasPanels(Type type, int64_t headSize, int64_t valueSize) {
  auto isOfPanels = [](int64_t size) {
    return size > 0 && size <= kMostOfWarpgroups &&
           llvm::alignTo(size, kRowsOfWarp) % kElementsOfPanel == 0;
  };
  return (type.isF16() || type.isBF16()) && isOfPanels(headSize) &&
         isOfPanels(valueSize);
}

/// About as many keys as a part has at least that workgroups of a GPU share:
/// another one would cost more than it saves.
inline constexpr int64_t kLeastKeysOfPart = 256;

/// What computes a kernel.
enum class Device { CPU, GPU };

/// The plan of `op`: what its own says, if it has one, and the rest from the
/// target of its module. Fails with an error if the op's own plan cannot be
/// carried out.
FailureOr<PlanAttr> planAttention(AttentionOp op, Device device);
/// The plan of that of its forms for a CPU which computes `length` queries.
FailureOr<PlanAttr> planAttention(AttentionOp op, int64_t length);

/// Whether an iteration of a parallel loop computes `op` as one tile of at most
/// `rows` queries and a chunk of `chunk` keys.
bool isTile(AttentionOp op, int64_t rows, int64_t chunk);

/// Of attention with a number of queries that only a call knows: for which
/// numbers of queries, at most, there are forms of their own beside that of
/// many. Of an op whose plan says how queries are cut, one.
SmallVector<int64_t> planFewQueries(AttentionOp op, Device device);
/// The same of the rows of multi-token attention on a CPU; none if its plan
/// says how many a tile has.
SmallVector<int64_t> planFewQueries(MultiTokenAttentionOp op);

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
/// weight, a multiple of `lanes`, or all of a head without panels: each tile
/// lies in one head and one panel. None if there is no such number.
std::optional<int64_t> chooseTileColumns(ProjectionOp op, Value out,
                                         int64_t first, int64_t lanes);

/// Parts of bf16 that a number of the input is the sum of, where it is
/// multiplied in pairs.
int64_t countParts(ProjectionOp op);

/// The same of projections, whose plan is that of many rows.
StringRef findObstacle(ProjectionOp op);
FailureOr<PlanAttr> planForCPU(ProjectionOp op);

/// Keys of multi-token attention that are computed together: four registers of
/// 512 bits. Rows of strips, but of the smallest, are a multiple of what
/// products with them have in registers.
inline constexpr int64_t kKeysOfStripBlock = 64, kRowsOfStripPart = 6;

/// The same of multi-token attention and its gradients: the rows of a tile, and
/// the keys that a strip of its scores has at once. What is said of gradients
/// does not look at the derivative of the score.
StringRef findObstacle(MultiTokenAttentionOp op);
StringRef findObstacle(MultiTokenAttentionBackwardOp op);
FailureOr<PlanAttr> planForCPU(MultiTokenAttentionOp op);
FailureOr<PlanAttr> planForCPU(MultiTokenAttentionBackwardOp op);

/// Whether a region has a value everywhere and loads nothing, so that strips of
/// multi-token attention can evaluate it for vectors.
bool isPlainRegion(Region &region);

/// The same of gradients of attention, on a CPU. An iteration goes over `heads`
/// query heads.
StringRef findObstacle(AttentionBackwardOp op);
FailureOr<PlanAttr> planForCPU(AttentionBackwardOp op);

/// The same of tangents of attention, on a CPU.
StringRef findObstacle(AttentionTangentOp op);
FailureOr<PlanAttr> planForCPU(AttentionTangentOp op);

/// Where the values of attention in pairs, without parallel chunks of keys, may
/// be packed.
struct PackChoices {
  /// Of what one tile alone reads.
  PackChoices() = default;
  /// `isTile` tells whether an iteration of the loop around `op` computes it.
  PackChoices(AttentionOp op, bool isTile);
  /// What is best of tiles of `rows` rows and blocks of `keys` keys.
  Packs choose(AttentionOp op, int64_t rows, int64_t keys) const;

  /// Whether a tile has values of a tensor that is there before the loop over
  /// tiles, which is in no other.
  bool canKeep = false;
  /// Whether it is known before that loop which rows they are.
  bool canShare = false;
  bool hasSeveralTiles = false;
};

/// Rows of a projection that are packed together: those of tile registers, in
/// pairs, or of a block of registers.
inline constexpr int64_t kRowsOfPairPack = 32, kRowsOfPack = 6;

/// As many of `count` in each part as make the fewest parts of at most `most`,
/// of about the same size.
int64_t divideEvenly(int64_t count, int64_t most);

/// Whether one parallel loop reads the rows of a projection, whose tiles can
/// then keep packs of them. It writes to `written`. `isJoined` tells which
/// others are computed in the same tiles.
bool canKeepPacks(ProjectionOp op, Value written,
                  function_ref<bool(ProjectionOp)> isJoined);
/// The plan that `attn-plan` attached to `op`; null if it has none.
PlanAttr getPlan(Operation *op);

/// The same of an op that kernels compute. Null, with a remark, if only the
/// reference path lowers it: because of an `obstacle`, unless that is empty, or
/// without a plan.
PlanAttr getPlanOrRemark(Operation *op, StringRef obstacle);

} // namespace mlir::attn

#endif // ATTN_PLAN_PLAN_H

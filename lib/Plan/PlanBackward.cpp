//===- PlanBackward.cpp - Plans of derivatives ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

StringRef attn::findObstacle(AttentionBackwardOp op) {
  if (op.getOfSink() && cast<ShapedType>(op.getSink().getType()).getRank() == 2)
    return "it has the gradient of a sink for each query";
  return {};
}

StringRef attn::findObstacle(AttentionTangentOp op) {
  if (op.getSinkTangent() &&
      cast<ShapedType>(op.getSink().getType()).getRank() == 2)
    return "it has the tangent of a sink for each query";
  return {};
}

/// Query heads of one iteration: all that share keys and values, unless there
/// are too few heads of these for threads; then as many as leave none without,
/// as each part of a group has sums of its own for all keys.
static int64_t chooseHeads(AttentionBackwardOp op, const CacheModel &model) {
  int64_t batch = op.getQueryType().getDimSize(0);
  if (ShapedType::isDynamic(batch) || op.isPacked())
    batch = 1;
  int64_t numParts =
      llvm::divideCeil(model.getIterations(),
                       std::max<int64_t>(batch * op.getNumKeyValueHeads(), 1));
  int64_t heads = std::max<int64_t>(op.getGroupSize() / numParts, 1);
  while (op.getGroupSize() % heads != 0)
    --heads;
  return heads;
}

/// Why what weights are multiplied by may not be rounded; empty if it may.
/// Gradients of scores are small where they cancel. Tangents of scores only do
/// so in the output: those that captures give them are of any size.
static StringRef whyNotRounded(AttentionBackwardOp) { return {}; }
static StringRef whyNotRounded(AttentionTangentOp op) {
  return op.getCaptureTangents().empty()
             ? ""
             : "captures may move scores by more than cancels in bf16";
}

namespace {
/// Elements of rows, padded to whole vectors.
struct HeadSizes {
  template <typename Op>
  HeadSizes(Op op, int64_t lanes)
      : key(pad(op.getQueryType(), lanes)),
        value(pad(op.getValueType(), lanes)),
        isPadded(key != op.getQueryType().getDimSize(3) ||
                 value != op.getValueType().getDimSize(3)) {}

  int64_t getMost() const { return std::max(key, value); }

  int64_t key, value;
  bool isPadded;

private:
  static int64_t pad(ShapedType type, int64_t lanes) {
    return int64_t(
        llvm::alignTo(uint64_t(type.getDimSize(3)), uint64_t(lanes)));
  }
};
} // namespace

/// Whether elements of heads are lanes, of f32 too: sums over queries are of
/// rows of keys and values. Tangents sum over keys alone, for queries in lanes.
static bool hasLanesOfHeads(AttentionBackwardOp) { return true; }
static bool hasLanesOfHeads(AttentionTangentOp) { return false; }

/// Whether products are of pairs of bf16.
template <typename Op> static bool canMultiplyInPairs(Op op) {
  TargetAttr target = getTarget(op);
  HeadSizes sizes(op, target.getLanes());
  if (!target.hasPairs() || !op.getElementType().isBF16() || sizes.key == 0 ||
      sizes.value == 0)
    return false;
  if (StringRef reason = whyNotRounded(op); !reason.empty()) {
    op->emitRemark() << "multiplies bf16 as f32, because " << reason;
    return false;
  }
  if (target.getBf16Tiles() && (sizes.key % kFeaturesPerTile != 0 ||
                                sizes.value % kFeaturesPerTile != 0))
    op->emitRemark() << "sums over heads by dot products of vectors, because "
                        "their sizes do not fill matrix tiles";
  return true;
}

/// Where what is summed over keys is packed for tiles: the rows of a sequence
/// by an iteration that computes all of it, or of all sequences before the loop
/// over their tiles, if they begin with a pack.
static Packs choosePacks(AttentionBackwardOp) { return Packs::Shared; }
static Packs choosePacks(AttentionTangentOp op) {
  return op.getCumulativeKey() ? Packs::Block : Packs::Shared;
}

/// Whether blocks of keys and values of `size` elements of bf16 leave no room
/// in the first-level cache.
static bool isLong(TargetAttr target, int64_t size) {
  constexpr int64_t kKeys = 64, kBytes = 2 * 2;
  return kKeys * kBytes * size > target.getL1Bytes() / 2;
}

namespace {
/// Query rows of a tile whose products are of matrix tiles, and keys of a block
/// and of a chunk.
struct TileSizes {
  int64_t rows, keys, chunk;
};
} // namespace

/// With each block, a tile reads and writes the sums of its keys: more rows
/// share that, but where a mask hides part of them, more is computed in vain.
/// Sums of a chunk take a fourth of the second level, whose rest is for its
/// keys and values. What a block reads of long heads is beyond the first level.
static TileSizes chooseSizes(AttentionBackwardOp op, int64_t size) {
  TargetAttr target = getTarget(op);
  constexpr int64_t kBytesOfSums = 2 * 4, kLeastChunk = 256;
  auto chunk = int64_t(llvm::bit_floor(
      uint64_t(target.getL2Bytes() / 4 / (kBytesOfSums * size))));
  bool isPlain = !op.hasMask() && !op.hasScore();
  return {.rows = isPlain || isLong(target, size) ? 128 : 64,
          .keys = 64,
          .chunk = std::max(chunk, kLeastChunk)};
}
static TileSizes chooseSizes(AttentionTangentOp op, int64_t size) {
  return {
      .rows = isLong(getTarget(op), size) ? 64 : 32, .keys = 64, .chunk = 0};
}

/// Tiles of queries, in lanes, and blocks of keys, of an op whose derivatives
/// are `what`; its own plan may say how many of each.
template <typename Op>
static FailureOr<PlanAttr> planTiles(Op op, PlanFields fields, StringRef what,
                                     bool isInPairs) {
  CacheModel model(getTarget(op));
  int64_t lanes = getTarget(op).getVectorBits() /
                  int64_t(op.getAccumulationType().getWidth());
  HeadSizes sizes(op, lanes);
  if (sizes.isPadded && (isInPairs || hasLanesOfHeads(op)))
    fields.headSize = sizes.key;
  int64_t size = sizes.getMost();
  bool isNarrow = op.getElementType() != op.getAccumulationType();
  fields.layout = isInPairs ? OnlineLayout::Pairs : OnlineLayout::Lanes;
  fields.rows = op.hasMask() || op.hasScore() ? model.getVariantRows()
                                              : model.getPlainRows();
  fields.lanes = lanes;
  fields.keys = isNarrow ? model.getConvertedKeys(size) : model.getKeys();
  int64_t keyUnit = 8, rowUnit = lanes;
  if (isInPairs && getTarget(op).getBf16Tiles()) {
    keyUnit = OnlineAttentionOp::kKeysPerPack;
    TileSizes tiles = chooseSizes(op, size);
    fields.packs = choosePacks(op);
    fields.rows = tiles.rows;
    rowUnit = keyUnit;
    fields.keys = tiles.keys;
    fields.chunk = tiles.chunk;
  }
  // A tile of few queries has no more rows than they fill.
  if (int64_t length = op.getQueryType().getDimSize(2);
      !ShapedType::isDynamic(length))
    fields.rows =
        std::min(fields.rows,
                 int64_t(llvm::alignTo(std::max<int64_t>(length, 1), rowUnit)));
  PlanAttr said = getPlan(op);
  if (!said)
    return PlanAttr::get(op.getContext(), fields);
  auto refuse = [&](const Twine &expected, int64_t got) -> LogicalResult {
    return op.emitError("attn.plan: ")
           << expected << " for " << what << ", got " << got;
  };
  PlanFields known = said.getFields();
  constexpr int64_t most = 1024;
  if (known.rows) {
    if (known.rows % lanes != 0 || known.rows > most)
      return refuse("rows: expected a multiple of " + Twine(lanes) +
                        ", the lanes of a vector, of at most 1024",
                    known.rows);
    fields.rows = known.rows;
  }
  if (known.keys) {
    if (known.keys % keyUnit != 0 || known.keys > most)
      return refuse("keys: expected a multiple of " + Twine(keyUnit) +
                        ", of at most 1024",
                    known.keys);
    fields.keys = known.keys;
  }
  if (known.heads && fields.heads) {
    if (op.getGroupSize() % known.heads != 0)
      return refuse("heads: expected a divisor of " + Twine(op.getGroupSize()) +
                        ", the query heads of a group",
                    known.heads);
    fields.heads = known.heads;
  }
  PlanFields others = known;
  others.rows = fields.rows, others.keys = fields.keys;
  if (fields.heads)
    others.heads = fields.heads;
  if (!others.layout)
    others.layout = fields.layout;
  if (!others.headSize)
    others.headSize = fields.headSize;
  if (!others.lanes)
    others.lanes = fields.lanes;
  if (!others.chunk)
    others.chunk = fields.chunk;
  if (!others.packs)
    others.packs = fields.packs;
  auto plan = PlanAttr::get(op.getContext(), fields);
  if (PlanAttr::get(op.getContext(), others) != plan)
    return op.emitError("attn.plan: expected ")
           << (fields.heads ? "'rows', 'keys' and 'heads'"
                            : "'rows' and 'keys'")
           << " alone for " << what << ", got " << said;
  return plan;
}

FailureOr<PlanAttr> attn::planForCPU(AttentionBackwardOp op) {
  return planTiles(op, {.heads = chooseHeads(op, CacheModel(getTarget(op)))},
                   "gradients", canMultiplyInPairs(op));
}

FailureOr<PlanAttr> attn::planForCPU(AttentionTangentOp op) {
  return planTiles(op, {}, "tangents", canMultiplyInPairs(op));
}

//===- PlanAttention.cpp - How kernels compute attention ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/KnownSizes.h"
#include "lib/Plan/BlockKeys.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

StringRef attn::findObstacle(AttentionOp op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  // That no key is there does not show in the types of packed ones.
  if (op.isKnownEmpty() && !op.getCumulativeKey())
    return "it is empty";
  return {};
}

PlanAttr attn::getPlan(Operation *op) {
  return op->getAttrOfType<PlanAttr>(PlanAttr::kName);
}

PlanAttr attn::getPlanOrRemark(Operation *op, StringRef obstacle) {
  PlanAttr plan = getPlan(op);
  if (plan && obstacle.empty())
    return plan;
  op->emitRemark() << "is lowered by the reference path, because "
                   << (obstacle.empty() ? "it has no attn.plan" : obstacle);
  return PlanAttr();
}

namespace {

/// The number of queries of a head, or a bound of it, as far as the kernel
/// knows them.
struct QueryCount {
  int64_t most = ShapedType::kDynamic;
  bool isExact = false;
};

/// Plans one op. Each `choose` is what is best of what can be, each `check` an
/// error if what the op says cannot be.
class AttentionPlanner {
public:
  AttentionPlanner(AttentionOp op, Device device)
      : op(op), device(device), target(getTarget(op)), model(target),
        said(getPlan(op)), headSize(op.getQueryType().getDimSize(3)),
        valueSize(op.getValueType().getDimSize(3)) {}

  /// For the number of queries that the op has.
  FailureOr<PlanAttr> plan();
  /// The same for another number.
  FailureOr<PlanAttr> plan(QueryCount count);
  SmallVector<int64_t> planFewQueries();

private:
  bool isForGPU() const { return device == Device::GPU; }
  int64_t getLanesOfVector() {
    if (isForGPU())
      return kRowsOfWarp;
    return op.getElementType().isF64() ? target.getLanes() / 2
                                       : target.getLanes();
  }
  int64_t getSaid(int64_t (PlanAttr::*get)() const) const {
    return said ? (said.*get)() : 0;
  }
  /// Whether the rows that tiles are cut from are at most `number`.
  bool hasAtMost(int64_t number) const {
    return !ShapedType::isDynamic(count.most) &&
           count.most <= (number + restRows) / std::max<int64_t>(heads, 1);
  }
  int64_t alignToLanes(int64_t number) const {
    return int64_t(llvm::alignTo(uint64_t(number), uint64_t(lanes)));
  }
  int64_t getMostRows() const { return count.most * heads - restRows; }
  /// The most queries of which tiles of one head would leave more than half of
  /// the last one empty, as much as they fill.
  int64_t getMostFew() { return 2 * getMostRowsOfOneTile() - 1; }
  /// Whether there are no more: then there are tiles of a group's heads, and
  /// parallel chunks of keys.
  bool isFew() {
    return !isForGPU() && !ShapedType::isDynamic(count.most) &&
           count.most <= getMostFew();
  }
  bool isVariant() { return op.hasMask() || op.hasScore(); }
  /// Whether all numbers of queries have to be computed in one order: that of
  /// many, in lanes or pairs, from the first key to the last.
  bool isBatchInvariant() const { return said && said.getBatchInvariant(); }
  /// Heads that may be rows of one tile. Of dropout, they are of one line.
  int64_t getMostHeads() { return op.hasDropout() ? 1 : op.getGroupSize(); }
  bool canComputeInWarpgroups();
  int64_t chooseLanes();
  bool hasFewTiles(int64_t rows);
  int64_t getMostRowsOfOneTile();
  bool canComputeInRows();
  bool canTileInRows();
  bool hasTilesInRows();
  bool fillsLanes();
  int64_t getMostFewInRows();
  /// What rows are multiples of, beyond a vector.
  int64_t getPartOfRow() const { return std::min<int64_t>(lanes, 4); }
  bool hasSizesForRows();
  bool canComputeInPairs();

  int64_t chooseHeads();
  int64_t chooseRows();
  int64_t chooseRowsOfFew(int64_t most);
  int64_t chooseRest();
  FailureOr<PlanAttr> planRest();
  bool isOneTileOfGPU();
  int64_t chooseChunk();
  int64_t chooseHeadSize();
  OnlineLayout chooseLayout();
  int64_t chooseKeys();
  FailureOr<std::optional<Packs>> planPacks();
  LogicalResult check();
  InFlightDiagnostic refuse(StringRef name) {
    return op.emitError("attn.plan: ") << name << ": ";
  }

  AttentionOp op;
  Device device;
  TargetAttr target;
  CacheModel model;
  PlanAttr said;
  QueryCount count;
  /// Elements of a query's row, as they are or will be padded, and of a
  /// value's.
  int64_t headSize, valueSize;
  OnlineLayout layout = OnlineLayout::Lanes;
  int64_t heads = 1, rows = 0, lanes = 0, keys = 0, chunk = 0;
  int64_t restRows = 0; ///< Left to a tile of another plan.
  bool inWarpgroups = false;
};

} // namespace

/// Keys of a block where a warp has 32 rows, of which each lane has an element
/// of the output and of scores for each column: as many as a thread's registers
/// have room for, beside 92 for queries, weights, sums and addresses, and what
/// `changesScores` needs for each; 0 if there is no room.
static int64_t chooseKeysForTallWarps(int64_t valueSize, bool changesScores) {
  constexpr int64_t kMost = 255 - 92, kFewKeys = kMostKeysOfBlock / 2;
  auto output = int64_t(llvm::alignTo(uint64_t(valueSize), kRowsOfWarp));
  if (output + kMostKeysOfBlock <= kMost && !changesScores)
    return kMostKeysOfBlock;
  return output + kFewKeys <= kMost ? kFewKeys : 0;
}

/// On a GPU, the rows of a warp. Each product of a warp reads keys or values
/// from workgroup memory, which cannot keep up with matrix units unless a warp
/// has two products' rows for each read. That takes registers; and of few rows,
/// or few tiles, there would be too few warps.
int64_t AttentionPlanner::chooseLanes() {
  if (!isForGPU() || inWarpgroups)
    return getLanesOfVector();
  int64_t rows = getSaid(&PlanAttr::getRows);
  bool isFew =
      (rows && rows <= kFewRows) || (!ShapedType::isDynamic(count.most) &&
                                     count.most * getMostHeads() <= kFewRows);
  bool hasRoom = !op.getElementType().isF32() && headSize <= 128 &&
                 chooseKeysForTallWarps(valueSize, op.hasScore()) > 0;
  return isFew || !hasRoom || hasFewTiles(2 * kFewRows) ? kRowsOfWarp
                                                        : 2 * kRowsOfWarp;
}

/// Whether warpgroups multiply many queries. Rows are copied as they are, and
/// dropout takes registers.
bool AttentionPlanner::canComputeInWarpgroups() {
  int64_t lanes = getSaid(&PlanAttr::getLanes),
          rows = getSaid(&PlanAttr::getRows);
  return isForGPU() && target.getGpuWarpgroups() &&
         hasPanels(op.getElementType(), headSize, valueSize) &&
         !op.hasDropout() && !op.getKey().getDefiningOp<CacheReadOp>() &&
         (lanes == 0 || lanes == kRowsOfWarp) &&
         (rows == 0 || rows == kRowsOfWarpgroups) &&
         getSaid(&PlanAttr::getKeys) <= kKeysOfWarpgroups &&
         !hasAtMost(kFewRows) && !hasFewTiles(kRowsOfWarpgroups);
}

/// Whether it is known that tiles of `rows` would leave multiprocessors of a
/// GPU without a workgroup.
bool AttentionPlanner::hasFewTiles(int64_t rows) {
  int64_t batch = op.getQueryType().getDimSize(0);
  return count.isExact && !ShapedType::isDynamic(batch) &&
         batch * op.getNumQueryHeads() *
                 int64_t(llvm::divideCeil(count.most, rows)) <
             target.getGpuMultiprocessors();
}

int64_t AttentionPlanner::getMostRowsOfOneTile() {
  if (isForGPU())
    return inWarpgroups ? kRowsOfWarpgroups : kWarpsOfWorkgroup * lanes;
  return isVariant() ? model.getVariantRows(headSize + valueSize)
                     : model.getPlainRows();
}

/// Whether there is an online form in rows, where vectors are of `lanes`.
bool AttentionPlanner::canComputeInRows() {
  return !isForGPU() && !isBatchInvariant() &&
         (hasAtMost(lanes) || hasTilesInRows()) && getMostRows() >= 1 &&
         hasSizesForRows();
}

/// Whether several tiles may be in rows, as whole positions.
bool AttentionPlanner::canTileInRows() {
  return !isForGPU() && !isBatchInvariant() && heads > 1 && heads <= lanes &&
         !canComputeInPairs() && hasSizesForRows();
}

/// Whether tiles of few queries are in rows, be there one or several.
bool AttentionPlanner::hasTilesInRows() {
  if (ShapedType::isDynamic(count.most) || !canTileInRows())
    return false;
  if (said && said.getLayout())
    return *said.getLayout() == OnlineLayout::Rows &&
           count.most <= getMostFew();
  return !(said && (said.getRows() || said.getRest())) &&
         count.most <= getMostFewInRows();
}

/// Whether tiles of lanes would be padded by less than a fourth of their rows.
bool AttentionPlanner::fillsLanes() {
  return 4 * getMostRows() > 3 * int64_t(llvm::alignTo(getMostRows(), lanes));
}

/// The type that keys are read as: of a cache, that which it has stored.
static Type getStoredType(Value key) {
  if (auto read = key.getDefiningOp<CacheReadOp>())
    key = read.getCache();
  return cast<ShapedType>(key.getType()).getElementType();
}

/// What whole vectors leave of a row is a part of one. For more than half a
/// vector of queries, it costs more than to pad rows and multiply pairs; for
/// almost a vector of them in f32, more than lanes.
bool AttentionPlanner::hasSizesForRows() {
  bool isPadded = headSize != op.getQueryType().getDimSize(3);
  bool isWhole = headSize % lanes == 0 && valueSize % lanes == 0;
  bool isAlmostVector = count.isExact && 4 * getMostRows() > 3 * lanes &&
                        getStoredType(op.getKey()).isF32();
  bool prefersOthers =
      canComputeInPairs() ? getMostRows() > lanes / 2 : isAlmostVector;
  if (!isWhole && prefersOthers && !(said && said.getLayout()))
    return false;
  return !isPadded && headSize % getPartOfRow() == 0 &&
         valueSize % getPartOfRow() == 0 && headSize >= lanes &&
         valueSize >= lanes;
}

/// Whether there is an online form in pairs of bf16.
bool AttentionPlanner::canComputeInPairs() {
  return !isForGPU() && target.hasPairs() && op.getElementType().isBF16() &&
         headSize % 2 == 0 && headSize > 0;
}

/// Heads that share keys and values are rows of the same tiles if their own
/// queries would leave a tile partly empty: each key is then read once for all.
int64_t AttentionPlanner::chooseHeads() {
  int64_t groupSize = getMostHeads();
  if (!isForGPU())
    return isFew() ? groupSize : 1;
  int64_t said = getSaid(&PlanAttr::getRows);
  int64_t most = said ? said : kFewRows;
  return count.isExact && count.most <= most / groupSize ? groupSize : 1;
}

/// The most queries of heads that share keys whose tiles are in rows. Rows cost
/// what there are, where lanes are padded; and tiles of lanes would each
/// convert keys and values of a narrower type. But full ones are faster, and so
/// are those of f32 where an unknown number of queries fills four vectors. Only
/// rows multiply integers as such. 0 if there are none.
int64_t AttentionPlanner::getMostFewInRows() {
  if (!canTileInRows())
    return 0;
  Type stored = getStoredType(op.getKey());
  // Each position would convert floats of 8 bits, which takes longest.
  if (stored.getIntOrFloatBitWidth() < 16 && isa<FloatType>(stored))
    return 0;
  if (stored.isF32())
    return count.isExact ? 0 : (4 * lanes - 1) / heads;
  bool isFull = count.isExact && isa<FloatType>(stored) && fillsLanes();
  return isFull ? 0 : getMostFew();
}

int64_t attn::getRowsAtATime(int64_t heads) {
  return std::max<int64_t>(heads, 2);
}

int64_t AttentionPlanner::chooseRows() {
  int64_t most = getMostRowsOfOneTile();
  if (inWarpgroups)
    return most;
  // Of whole positions.
  if (hasTilesInRows() && !hasAtMost(lanes))
    return lanes / heads * heads;
  if (hasAtMost(most) && (count.isExact || canComputeInRows()))
    return std::max<int64_t>(getMostRows(), 1);
  if (isFew())
    return chooseRowsOfFew(most);
  // Weights in pairs need room beside the scores, too. But one tile of all
  // queries is the only one to read a head.
  return canComputeInPairs() ? model.getVariantRows() : most;
}

/// Every tile computes as many rows, of which the last one may need few, and
/// reads all keys and values, which takes as long as a few rows do. Values are
/// packed for each tile of pairs, of which larger ones are faster.
int64_t AttentionPlanner::chooseRowsOfFew(int64_t most) {
  if (canComputeInPairs())
    return model.getVariantRows();
  if (!count.isExact)
    return std::min(heads > 1 ? 2 * lanes : most, alignToLanes(getMostRows()));
  auto getCost = [&](int64_t rows) {
    auto tiles = int64_t(llvm::divideCeil(getMostRows(), rows));
    return tiles * (rows + model.getRowsOfReading(lanes));
  };
  int64_t best = lanes;
  for (int64_t rows = 2 * lanes; rows <= most; rows += lanes)
    if (getCost(rows) <= getCost(best))
      best = rows;
  return best;
}

/// Whether a parallel loop that the user wrote computes `op`, which decides
/// what is parallel.
static bool isInParallelLoop(Operation *op) {
  return op->getParentOfType<scf::ForallOp>() != nullptr;
}

bool attn::isTile(AttentionOp op, int64_t rows, int64_t chunk) {
  std::optional<int64_t> most = getKnownMost(op.getQuery(), 2);
  return isInParallelLoop(op) && op.getQueryType().getDimSize(0) == 1 &&
         op.getNumQueryHeads() == 1 && chunk == 0 && most && *most <= rows;
}

/// Rows that lanes would be padded for, and that cost no more one by one. In
/// pairs, half as many do.
int64_t AttentionPlanner::chooseRest() {
  if (!count.isExact || !isFew() || heads == 1 || canComputeInRows() ||
      isBatchInvariant() || isInParallelLoop(op) ||
      (said && (said.getRows() || said.getLayout())))
    return 0;
  int64_t rest = getMostRows() % lanes;
  bool isCheap = rest <= lanes / (canComputeInPairs() ? 4 : 2);
  return isCheap && hasSizesForRows() ? rest : 0;
}

/// Whether a workgroup has all queries of the heads that share keys.
bool AttentionPlanner::isOneTileOfGPU() {
  return heads == op.getGroupSize() && count.isExact && hasAtMost(rows);
}

/// Tiles of many queries are parallel without chunks.
int64_t AttentionPlanner::chooseChunk() {
  if (isForGPU())
    return isOneTileOfGPU() && rows <= kFewRows ? kLeastKeysOfPart : 0;
  bool isSplit = !isInParallelLoop(op) && !isBatchInvariant() &&
                 (isFew() || hasAtMost(rows));
  return isSplit ? model.getChunk() : 0;
}

/// Rows that are multiplied in pairs are padded to what an instruction takes.
int64_t AttentionPlanner::chooseHeadSize() {
  if (isForGPU() || !target.hasPairs() || !op.getElementType().isBF16() ||
      headSize == 0 || canComputeInRows())
    return headSize;
  return int64_t(
      llvm::alignTo(uint64_t(headSize), uint64_t(target.getPairMultiple())));
}

OnlineLayout AttentionPlanner::chooseLayout() {
  if (isForGPU())
    return OnlineLayout::Mma;
  bool hasPairs = canComputeInPairs();
  // For more than half a vector of queries, pairs cost less than to widen keys
  // and values, if these need not be padded.
  bool prefersPairs = hasPairs && getMostRows() > lanes / 2 &&
                      headSize % target.getPairMultiple() == 0;
  // A vector of rows of which others are left is full.
  if (canComputeInRows() && !prefersPairs && restRows == 0)
    return OnlineLayout::Rows;
  return hasPairs ? OnlineLayout::Pairs : OnlineLayout::Lanes;
}

int64_t AttentionPlanner::chooseKeys() {
  if (inWarpgroups)
    return kKeysOfWarpgroups;
  if (isForGPU() && lanes > kRowsOfWarp)
    if (int64_t keys = chooseKeysForTallWarps(valueSize, op.hasScore()))
      return keys;
  int64_t size = std::max(headSize, valueSize);
  // Of any number of queries, one is what comes most often.
  int64_t usual = count.isExact ? rows : std::min(rows, heads);
  int64_t keys =
      chooseKeysOfBlock(layout, op.getElementType(), getStoredType(op.getKey()),
                        usual, size, model);
  if (!isForGPU() || op.getElementType().isF32())
    return keys;
  // Fewer where a workgroup has few warps, so that more of them have room.
  int64_t bytes = getBytesOfKey(/*elementBytes=*/2, headSize, valueSize);
  auto warps = int64_t(llvm::divideCeil(rows, lanes));
  return std::clamp<int64_t>(model.getMostKeys(bytes, {warps, lanes, size}),
                             kRowsOfWarp, keys);
}

FailureOr<PlanAttr> AttentionPlanner::plan() {
  int64_t type = op.getQueryType().getDimSize(2);
  if (op.isRagged())
    return plan({});
  if (!ShapedType::isDynamic(type))
    return plan({type, /*isExact=*/true});
  std::optional<int64_t> bound = getKnownMost(op.getQuery(), 2);
  return bound ? plan({*bound, /*isExact=*/false}) : plan({});
}

FailureOr<PlanAttr> AttentionPlanner::plan(QueryCount number) {
  count = number;
  auto use = [](int64_t given, int64_t chosen) {
    return given ? given : chosen;
  };
  inWarpgroups = canComputeInWarpgroups();
  lanes = use(getSaid(&PlanAttr::getLanes), chooseLanes());
  heads = use(getSaid(&PlanAttr::getHeads), chooseHeads());
  headSize = use(getSaid(&PlanAttr::getHeadSize), chooseHeadSize());
  restRows = said && said.getRest() ? said.getRest().getRows() : chooseRest();
  rows = use(getSaid(&PlanAttr::getRows), chooseRows());
  layout = said && said.getLayout() ? *said.getLayout() : chooseLayout();
  keys = use(getSaid(&PlanAttr::getKeys), chooseKeys());
  chunk = use(getSaid(&PlanAttr::getChunk), chooseChunk());
  int64_t ahead = getSaid(&PlanAttr::getAhead);
  if (ahead == 0 && chunk > 0 && layout == OnlineLayout::Rows)
    ahead = chooseBytesAhead(getStoredType(op.getKey()), rows,
                             std::max(headSize, valueSize), keys, model);
  if (failed(check()))
    return failure();
  FailureOr<std::optional<Packs>> packs = planPacks();
  FailureOr<PlanAttr> rest = planRest();
  if (failed(packs) || failed(rest))
    return failure();
  return PlanAttr::get(op.getContext(), {.layout = layout,
                                         .heads = heads,
                                         .rows = rows,
                                         .lanes = lanes,
                                         .headSize = headSize,
                                         .keys = keys,
                                         .chunk = chunk,
                                         .packs = *packs,
                                         .ahead = ahead,
                                         .inWarpgroups = inWarpgroups,
                                         .isBatchInvariant = isBatchInvariant(),
                                         .rest = *rest});
}

/// Where values are packed; nothing if they are not.
FailureOr<std::optional<Packs>> AttentionPlanner::planPacks() {
  std::optional<Packs> given = said ? said.getPacks() : std::nullopt;
  if (layout != OnlineLayout::Pairs) {
    if (given)
      return refuse("packs")
             << "expected none for '" << stringifyOnlineLayout(layout)
             << "', got '" << stringifyPacks(*given) << "'";
    return given;
  }
  // A part of keys is read by one tile.
  PackChoices choices;
  if (chunk == 0)
    choices = PackChoices(op, isTile(op, rows, chunk));
  if (!given)
    return std::optional(choices.choose(op, rows, keys));
  if (*given == Packs::Kept && !choices.canKeep)
    return refuse("packs")
           << "expected values of a tensor from outside of the only parallel "
              "loop, and no 'chunk', for 'kept'";
  if (*given == Packs::Shared && !choices.canShare)
    return refuse("packs") << "expected values whose rows are known outside of "
                              "the parallel loop, and no 'chunk', for "
                              "'shared'";
  return given;
}

/// The plan of what is left, in rows; null if nothing is.
FailureOr<PlanAttr> AttentionPlanner::planRest() {
  PlanAttr saidOfRest = said ? said.getRest() : PlanAttr();
  if (!saidOfRest && restRows == 0)
    return PlanAttr();
  int64_t restKeys = chooseKeysOfBlock(OnlineLayout::Rows, op.getElementType(),
                                       getStoredType(op.getKey()), restRows,
                                       std::max(headSize, valueSize), model);
  if (saidOfRest && saidOfRest.getKeys())
    restKeys = saidOfRest.getKeys();
  auto rest = PlanAttr::get(op.getContext(), {.layout = OnlineLayout::Rows,
                                              .heads = heads,
                                              .rows = restRows,
                                              .lanes = lanes,
                                              .headSize = headSize,
                                              .keys = restKeys,
                                              .chunk = chunk});
  if (!saidOfRest)
    return rest;
  if (isForGPU() || !count.isExact || heads == 1 || restRows < 1 ||
      restRows > lanes || getMostRows() < 1 || !hasSizesForRows())
    return refuse("rest") << "expected 1 to " << lanes
                          << " 'rows', fewer than there are, of several heads, "
                             "a known number of queries, and head sizes of at "
                             "least "
                          << lanes << " that are multiples of "
                          << getPartOfRow() << ", got " << restRows;
  auto differs = [](int64_t given, int64_t planned) {
    return given != 0 && given != planned;
  };
  if (saidOfRest.getLayout().value_or(OnlineLayout::Rows) !=
          OnlineLayout::Rows ||
      differs(saidOfRest.getHeads(), heads) ||
      differs(saidOfRest.getLanes(), lanes) ||
      differs(saidOfRest.getHeadSize(), headSize) ||
      differs(saidOfRest.getChunk(), chunk) || saidOfRest.getColumns() ||
      saidOfRest.getFeatures() || saidOfRest.getPacks())
    return refuse("rest") << "expected no other plan than " << rest;
  return rest;
}

LogicalResult AttentionPlanner::check() {
  if (!said)
    return success();
  int64_t unit = getLanesOfVector();
  if (lanes % unit != 0 || !llvm::isPowerOf2_64(uint64_t(lanes)))
    return refuse("lanes") << "expected a power of 2 and multiple of " << unit
                           << ", got " << lanes;
  if (isForGPU() && lanes > 2 * kRowsOfWarp)
    return refuse("lanes") << "expected at most " << 2 * kRowsOfWarp
                           << " on a GPU, got " << lanes;
  if (said.getWarpgroups() && !inWarpgroups)
    return refuse("warpgroups")
           << "expected a GPU of sm_90a, many queries of f16 or bf16, "
           << kRowsOfWarpgroups << " 'rows' of 16 'lanes', at most "
           << kKeysOfWarpgroups
           << " 'keys', no cache and no dropout, and heads of "
           << kElementsOfPanel << " or " << kMostOfWarpgroups << " elements";
  if (heads != 1 && heads != op.getGroupSize())
    return refuse("heads") << "expected 1 or the " << op.getGroupSize()
                           << " that share keys and values, got " << heads;
  if (heads != 1 && op.hasDropout())
    return refuse("heads") << "expected 1 with dropout, got " << heads;
  if (isForGPU() && heads != 1 && !(count.isExact && hasAtMost(rows)))
    return refuse("heads") << "expected a tile of all queries of " << heads
                           << " heads, got one of " << rows << " rows";
  int64_t size = op.getQueryType().getDimSize(3);
  if (headSize < size)
    return refuse("head_size")
           << "expected at least " << size << ", got " << headSize;
  bool isOfFew = layout == OnlineLayout::Rows || chunk > 0 || said.getRest();
  if (isBatchInvariant() && (isForGPU() || isOfFew))
    return refuse("batch_invariant")
           << (isForGPU() ? "is not of a GPU"
                          : "expected neither 'rows', nor a 'chunk' or "
                            "'rest', which few queries alone have");
  if (layout == OnlineLayout::Rows && !canComputeInRows())
    return refuse("layout")
           << "expected few queries, at most "
           << (canTileInRows() ? getMostFew() : lanes / heads)
           << ", and head sizes of at least " << lanes
           << " that are multiples of " << getPartOfRow() << " for 'rows'";
  if (layout == OnlineLayout::Pairs && !canComputeInPairs())
    return refuse("layout") << "expected bf16, an even head size, and a target "
                               "that multiplies pairs for 'pairs'";
  if ((layout == OnlineLayout::Mma) != isForGPU())
    return refuse("layout") << "expected 'mma' for a GPU, and only for one";
  if (layout == OnlineLayout::Pairs && headSize % target.getPairMultiple() != 0)
    return refuse("head_size")
           << "expected a multiple of " << target.getPairMultiple()
           << " for 'pairs', got " << headSize;
  if (headSize != size && layout != OnlineLayout::Pairs)
    return refuse("head_size")
           << "expected " << size << " for '" << stringifyOnlineLayout(layout)
           << "', got " << headSize;
  if (layout == OnlineLayout::Pairs &&
      keys % OnlineAttentionOp::kKeysPerPack != 0)
    return refuse("keys") << "expected a multiple of "
                          << OnlineAttentionOp::kKeysPerPack
                          << " for 'pairs', got " << keys;
  if (chunk % kChunkUnit != 0)
    return refuse("chunk") << "expected a multiple of " << kChunkUnit
                           << ", got " << chunk;
  if (isForGPU() && chunk > 0 && !isOneTileOfGPU())
    return refuse("chunk") << "expected none of many queries on a GPU, got "
                           << chunk;
  if (said.getColumns() || said.getFeatures())
    return refuse(said.getColumns() ? "columns" : "features")
           << "is not of attention, but of a projection";
  return success();
}

SmallVector<int64_t> AttentionPlanner::planFewQueries() {
  SmallVector<int64_t> forms = {1};
  if (isForGPU() || (said && (said.getHeads() || said.getRows() ||
                              said.getLanes() || said.getLayout())))
    return forms;
  // Half a vector of rows where more are in pairs, and a vector, or tiles.
  lanes = getLanesOfVector();
  heads = getMostHeads();
  SmallVector<int64_t> most = {lanes / heads};
  if (canComputeInPairs())
    most.insert(most.begin(), lanes / 2 / heads);
  else if (int64_t few = getMostFewInRows(); few > 0)
    most.back() = few;
  for (int64_t number : most) {
    count = {number, /*isExact=*/false};
    if (count.most <= forms.back() || !canComputeInRows())
      continue;
    // One query alone would be padded, or its form is as good.
    bool isPadded = canComputeInPairs() && number * heads > lanes / 2;
    if (forms.back() == 1 && getRowsAtATime(heads) == heads && !isPadded)
      forms.clear();
    forms.push_back(count.most);
  }
  // Heads that share keys, until tiles of one of them are mostly full.
  if (heads > 1 && forms.back() < getMostFew())
    forms.push_back(getMostFew());
  // Half a tile of lanes takes half as long. One of pairs is small.
  int64_t half = getMostRowsOfOneTile() / 2;
  if (heads == 1 && !canComputeInPairs() && !isBatchInvariant() &&
      forms.back() < half)
    forms.push_back(half);
  return forms;
}

FailureOr<PlanAttr> attn::planAttention(AttentionOp op, Device device) {
  return AttentionPlanner(op, device).plan();
}

FailureOr<PlanAttr> attn::planAttention(AttentionOp op, int64_t length) {
  AttentionPlanner planner(op, Device::CPU);
  if (op.isRagged() || op.getQueryType().isDynamicDim(2))
    for (int64_t most : planner.planFewQueries())
      if (length <= most)
        return planner.plan({most, /*isExact=*/most == 1});
  return planner.plan();
}

SmallVector<int64_t> attn::planFewQueries(AttentionOp op, Device device) {
  return AttentionPlanner(op, device).planFewQueries();
}

FailureOr<PlanAttr> attn::planOnline(OnlineAttentionOp op) {
  CacheModel model(getTarget(op));
  auto query = cast<ShapedType>(op.getQuery().getType()),
       key = cast<ShapedType>(op.getKey().getType()),
       value = cast<ShapedType>(op.getValue().getType());
  // What is converted in a block is of another type than the state.
  Type type = op.getLayout() == OnlineLayout::Mma ? query.getElementType()
                                                  : key.getElementType();
  PlanAttr said = getPlan(op);
  if (said && said.getWarpgroups() &&
      !(getTarget(op).getGpuWarpgroups() &&
        op.getLayout() == OnlineLayout::Mma &&
        hasPanels(query.getElementType(), query.getDimSize(1),
                  value.getDimSize(1)) &&
        query.getDimSize(0) == kRowsOfWarpgroups))
    return op.emitError("attn.plan: warpgroups: expected a GPU of sm_90a, "
                        "'mma', and ")
           << kRowsOfWarpgroups << " rows of f16 or bf16 in heads of "
           << kElementsOfPanel << " or " << kMostOfWarpgroups << " elements";
  int64_t keys =
      said && said.getKeys()
          ? said.getKeys()
          : chooseKeysOfBlock(
                op.getLayout(), type, key.getElementType(), op.getNumRows(),
                std::max(key.getDimSize(1), value.getDimSize(1)), model);
  bool isSplit = op.getLayout() != OnlineLayout::Mma && !isInParallelLoop(op);
  int64_t chunk = said && said.getChunk() ? said.getChunk()
                  : isSplit               ? model.getChunk()
                                          : 0;
  if (op.getLayout() == OnlineLayout::Pairs &&
      keys % OnlineAttentionOp::kKeysPerPack != 0)
    return op.emitError("attn.plan: keys: expected a multiple of ")
           << OnlineAttentionOp::kKeysPerPack << " for 'pairs', got " << keys;
  if (chunk % kChunkUnit != 0)
    return op.emitError("attn.plan: chunk: expected a multiple of ")
           << kChunkUnit << ", got " << chunk;
  return PlanAttr::get(op.getContext(),
                       {.layout = op.getLayout(),
                        .keys = keys,
                        .chunk = chunk,
                        .ahead = said ? said.getAhead() : 0,
                        .inWarpgroups = said && said.getWarpgroups(),
                        .isBatchInvariant = said && said.getBatchInvariant()});
}

//===- PlanAttention.cpp - How kernels compute attention ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"
#include "lib/Plan/Workgroups.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

StringRef attn::findObstacle(AttentionOp op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  // That no key is there does not show in the types of packed sequences.
  if (op.isKnownEmpty() && !op.isPacked())
    return "it is empty";
  if (op.getElementType().isF64())
    return "its element type is f64";
  if (op.hasDropout())
    return "it has dropout";
  return {};
}

PlanAttr attn::getPlan(Operation *op) {
  return op->getAttrOfType<PlanAttr>(PlanAttr::kName);
}

namespace {

/// Plans one op. Each `choose` is what is best of what can be, each `check` an
/// error if what the op says cannot be.
class AttentionPlanner {
public:
  AttentionPlanner(AttentionOp op, Device device, int64_t length)
      : op(op), device(device), target(getTarget(op)), model(target),
        said(getPlan(op)), numQueries(op.getQueryType().getDimSize(2)),
        headSize(op.getQueryType().getDimSize(3)),
        valueSize(op.getValueType().getDimSize(3)) {
    if (op.isPacked())
      numQueries = ShapedType::kDynamic;
    else if (!ShapedType::isDynamic(length))
      numQueries = length;
  }

  FailureOr<PlanAttr> plan();

private:
  bool isForGPU() const { return device == Device::GPU; }
  int64_t getSaid(int64_t (PlanAttr::*get)() const) const {
    return said ? (said.*get)() : 0;
  }
  /// Rows of a head that the tiles are cut from, if they are known.
  bool hasAtMost(int64_t count) const {
    return !ShapedType::isDynamic(numQueries) &&
           numQueries <= count / std::max<int64_t>(heads, 1);
  }
  int64_t getRowsOfHead() const { return numQueries * heads; }
  bool isVariant() { return op.hasMask() || op.hasScore(); }
  int64_t getMostRowsOfOneTile();
  bool canComputeInRows();
  bool canComputeInPairs();

  int64_t chooseHeads();
  int64_t chooseRows();
  int64_t chooseHeadSize();
  OnlineLayout chooseLayout();
  int64_t chooseKeys();
  LogicalResult check();
  InFlightDiagnostic refuse(StringRef name) {
    return op.emitError("attn.plan: ") << name << ": ";
  }

  AttentionOp op;
  Device device;
  TargetAttr target;
  CacheModel model;
  PlanAttr said;
  /// Of one head; dynamic if only the kernel knows them.
  int64_t numQueries;
  /// Elements of a query's row, as they are or will be padded, and of a
  /// value's.
  int64_t headSize, valueSize;
  OnlineLayout layout = OnlineLayout::Lanes;
  int64_t heads = 1, rows = 0, lanes = 0, keys = 0, chunk = 0;
};

} // namespace

int64_t AttentionPlanner::getMostRowsOfOneTile() {
  if (isForGPU())
    return kRowsOfWorkgroup;
  return isVariant() ? model.getVariantRows() : model.getPlainRows();
}

/// Whether there is an online form in rows, where vectors are of `lanes`.
bool AttentionPlanner::canComputeInRows() {
  return !isForGPU() && hasAtMost(lanes) && getRowsOfHead() >= 1 &&
         headSize % lanes == 0 && valueSize % lanes == 0 && headSize > 0 &&
         valueSize > 0;
}

/// Whether there is an online form in pairs of bf16.
bool AttentionPlanner::canComputeInPairs() {
  return !isForGPU() && target.hasPairs() && op.getElementType().isBF16() &&
         headSize % 2 == 0 && headSize > 0;
}

/// Heads that share keys and values are rows of one tile if it has room for all
/// of their queries: each key is then read once for all.
int64_t AttentionPlanner::chooseHeads() {
  int64_t groupSize = op.getGroupSize(), said = getSaid(&PlanAttr::getRows);
  int64_t most = said ? said : getMostRowsOfOneTile();
  bool fits =
      !ShapedType::isDynamic(numQueries) && numQueries <= most / groupSize;
  return fits ? groupSize : 1;
}

int64_t AttentionPlanner::chooseRows() {
  int64_t most = getMostRowsOfOneTile();
  if (hasAtMost(most))
    return std::max<int64_t>(getRowsOfHead(), 1);
  // Weights in pairs need room beside the scores, too. But one tile of all
  // queries is the only one to read a head.
  return canComputeInPairs() ? model.getVariantRows() : most;
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
  // and values, if heads fill registers with them.
  bool prefersPairs =
      hasPairs && getRowsOfHead() > lanes / 2 && headSize % (2 * lanes) == 0;
  if (canComputeInRows() && !prefersPairs)
    return OnlineLayout::Rows;
  return hasPairs ? OnlineLayout::Pairs : OnlineLayout::Lanes;
}

/// Keys of a block for matrix units: fewer for long heads, whose output leaves
/// few registers for scores, and whose queries take workgroup memory.
static int64_t chooseKeysForMatrixUnits(int64_t size) {
  int64_t elements = size > 128 ? 1 << 12 : 1 << 13;
  int64_t keys =
      int64_t(llvm::bit_floor(uint64_t(elements / std::max<int64_t>(1, size))));
  return std::clamp<int64_t>(keys, 16, kRowsOfWorkgroup);
}

/// The type that keys are read as: of a cache, that which it has stored.
static Type getStoredType(Value key) {
  if (auto read = key.getDefiningOp<CacheReadOp>())
    key = read.getCache();
  return cast<ShapedType>(key.getType()).getElementType();
}

/// Keys of a block that are read as `stored`, of attention on `type`. The
/// longer row of a key and a value has `size` elements.
static int64_t chooseKeysOfBlock(OnlineLayout layout, Type type, Type stored,
                                 int64_t size, const CacheModel &model) {
  size = std::max<int64_t>(size, 1);
  // Matrix units do not multiply f32.
  bool isInRows = layout == OnlineLayout::Rows ||
                  (layout == OnlineLayout::Mma && type.isF32());
  if (isInRows) {
    int64_t bits = stored.getIntOrFloatBitWidth();
    // Integers wait for conversions in any case, and longer turns cost less.
    if (isa<IntegerType>(stored))
      bits /= 2;
    return model.getStreamedKeys(std::max<int64_t>(size * bits / 8, 1));
  }
  if (layout == OnlineLayout::Mma)
    return chooseKeysForMatrixUnits(size);
  int64_t most = model.getKeys();
  if (layout == OnlineLayout::Pairs)
    return std::max(most, OnlineAttentionOp::kKeysPerPack);
  if (type.isF32())
    return most;
  // Keys and values are converted in the block.
  return std::clamp<int64_t>(model.getConvertedKeys(size),
                             std::min<int64_t>(32, most), most);
}

int64_t AttentionPlanner::chooseKeys() {
  return chooseKeysOfBlock(layout, op.getElementType(),
                           getStoredType(op.getKey()),
                           std::max(headSize, valueSize), model);
}

FailureOr<PlanAttr> AttentionPlanner::plan() {
  auto use = [](int64_t given, int64_t chosen) {
    return given ? given : chosen;
  };
  lanes = use(getSaid(&PlanAttr::getLanes),
              isForGPU() ? kRowsOfWarp : target.getLanes());
  heads = use(getSaid(&PlanAttr::getHeads), chooseHeads());
  headSize = use(getSaid(&PlanAttr::getHeadSize), chooseHeadSize());
  rows = use(getSaid(&PlanAttr::getRows), chooseRows());
  layout = said && said.getLayout() ? *said.getLayout() : chooseLayout();
  keys = use(getSaid(&PlanAttr::getKeys), chooseKeys());
  if (!isForGPU())
    chunk = use(getSaid(&PlanAttr::getChunk), model.getChunk());
  if (failed(check()))
    return failure();
  return PlanAttr::get(op.getContext(), layout, heads, rows, lanes, headSize,
                       keys, chunk, /*columns=*/0, /*features=*/0);
}

LogicalResult AttentionPlanner::check() {
  if (!said)
    return success();
  int64_t unit = isForGPU() ? kRowsOfWarp : target.getLanes();
  if (lanes % unit != 0 || !llvm::isPowerOf2_64(uint64_t(lanes)))
    return refuse("lanes") << "expected a power of 2 and multiple of " << unit
                           << ", got " << lanes;
  if (heads != 1 && heads != op.getGroupSize())
    return refuse("heads") << "expected 1 or the " << op.getGroupSize()
                           << " that share keys and values, got " << heads;
  if (heads != 1 && !hasAtMost(rows))
    return refuse("heads") << "expected a tile of all queries of " << heads
                           << " heads, got one of " << rows << " rows";
  int64_t size = op.getQueryType().getDimSize(3);
  if (headSize < size)
    return refuse("head_size")
           << "expected at least " << size << ", got " << headSize;
  if (layout == OnlineLayout::Rows && !canComputeInRows())
    return refuse("layout") << "expected few queries, at most " << lanes
                            << ", and head sizes that are multiples of "
                            << lanes << " for 'rows'";
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
  if (said.getColumns() || said.getFeatures())
    return refuse(said.getColumns() ? "columns" : "features")
           << "is not of attention, but of a projection";
  return success();
}

FailureOr<PlanAttr> attn::planAttention(AttentionOp op, Device device,
                                        int64_t length) {
  return AttentionPlanner(op, device, length).plan();
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
  int64_t keys =
      said && said.getKeys()
          ? said.getKeys()
          : chooseKeysOfBlock(op.getLayout(), type, key.getElementType(),
                              std::max(key.getDimSize(1), value.getDimSize(1)),
                              model);
  int64_t chunk = said && said.getChunk()               ? said.getChunk()
                  : op.getLayout() == OnlineLayout::Mma ? 0
                                                        : model.getChunk();
  if (op.getLayout() == OnlineLayout::Pairs &&
      keys % OnlineAttentionOp::kKeysPerPack != 0)
    return op.emitError("attn.plan: keys: expected a multiple of ")
           << OnlineAttentionOp::kKeysPerPack << " for 'pairs', got " << keys;
  if (chunk % kChunkUnit != 0)
    return op.emitError("attn.plan: chunk: expected a multiple of ")
           << kChunkUnit << ", got " << chunk;
  return PlanAttr::get(op.getContext(), op.getLayout(), /*heads=*/0,
                       /*rows=*/0, /*lanes=*/0, /*head_size=*/0, keys, chunk,
                       /*columns=*/0, /*features=*/0);
}

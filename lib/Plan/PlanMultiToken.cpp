//===- PlanMultiToken.cpp - How kernels compute multi-token attention -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/MultiTokenStages.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// Taps of a kernel per head at most, since a strip has rows for those of its
/// queries and margins for those of its keys: those of the paper's for 16 heads
/// are 1056.
static constexpr uint64_t kMostTapsOfKernel = 2048;

bool attn::isPlainRegion(Region &region) {
  if (region.empty())
    return true;
  return llvm::all_of(region.front().without_terminator(), [](Operation &op) {
    return isa<arith::ConstantOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
               arith::DivFOp, arith::NegFOp, arith::CmpFOp, arith::CmpIOp,
               arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp,
               arith::OrIOp, arith::XOrIOp, arith::SelectOp, arith::IndexCastOp,
               math::TanhOp>(op);
  });
}

/// Numbers of a kernel `(Hq, [ch,] cq, ck)` per head that is written.
static uint64_t countTaps(Value kernel) {
  uint64_t taps = 1;
  for (int64_t size :
       cast<ShapedType>(kernel.getType()).getShape().drop_front())
    taps = llvm::SaturatingMultiply(taps, uint64_t(size));
  return taps;
}

template <typename Op> static StringRef findObstacleOf(Op op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  // Upstream has slices of such a dimension invalid.
  for (ShapedType type : {op.getQueryType(), op.getKeyType(),
                          cast<ShapedType>(op.getOutput().getType())})
    if (llvm::is_contained(type.getShape(), 0))
      return "it is empty";
  if (op.getElementType().isF64())
    return "its element type is f64";
  if (op.hasDropout())
    return "it has dropout";
  for (Value kernel : {op.getKernelBefore(), op.getKernelAfter()})
    if (kernel && countTaps(kernel) > kMostTapsOfKernel)
      return "a kernel has more than 2048 taps per head";
  if (!isPlainRegion(op.getScore()) || !isPlainRegion(op.getMask()))
    return "a region loads or may be undefined";
  return "";
}

StringRef attn::findObstacle(MultiTokenAttentionOp op) {
  return findObstacleOf(op);
}

StringRef attn::findObstacle(MultiTokenAttentionBackwardOp op) {
  return findObstacleOf(op);
}

namespace {

/// The numbers of an op that its own plan may say.
struct StripPlan {
  int64_t rows;
  int64_t keys = 0; ///< 0: strips have all keys that a tile sees.
};

/// Chooses tiles and strips of one op.
class StripPlanner {
public:
  explicit StripPlanner(MultiTokenAttentionOp op)
      : op(op), model(getTarget(op)), before(op.getStagesBefore()),
        after(op.getStagesAfter()),
        heads(std::lcm(before.getNumMixedHeads(), after.getNumMixedHeads())) {}

  /// A convolution after the softmax reads across chunks of keys.
  bool hasChunks() const { return !after.kernel; }
  int64_t chooseRows();
  int64_t chooseKeys(int64_t rows);

private:
  MultiTokenAttentionOp op;
  CacheModel model;
  MultiTokenStages before, after;
  int64_t heads;
};

} // namespace

/// Those with which all tiles compute the fewest rows.
int64_t StripPlanner::chooseRows() {
  CacheModel::StripSizes sizes = model.getStripSizes();
  int64_t most = model.getMultiTokenRows();
  if (!hasChunks())
    most = std::min({most, sizes.rows,
                     std::max(sizes.rowsOfHeads / heads, kRowsOfStripPart)});
  int64_t numRows = cast<ShapedType>(op.getOutput().getType()).getDimSize(2);
  auto largest = int64_t(llvm::alignDown(uint64_t(most), kRowsOfStripPart));
  bool isOneTile = ShapedType::isStatic(numRows) && numRows <= most;
  if (isOneTile || largest < sizes.leastRows)
    return most;
  if (ShapedType::isDynamic(numRows))
    return largest;
  // Twice those of the output, for the stages and the values.
  auto countRows = [&](int64_t rows) {
    return llvm::divideCeil(numRows, rows) *
           (2 * rows + llvm::alignTo(rows + op.getHalo(), kRowsOfStripPart));
  };
  int64_t best = largest;
  for (int64_t rows = largest; rows >= sizes.leastRows;
       rows -= kRowsOfStripPart)
    if (countRows(rows) < countRows(best))
      best = rows;
  return best;
}

int64_t StripPlanner::chooseKeys(int64_t rows) {
  if (!hasChunks())
    return 0;
  CacheModel::StripSizes sizes = model.getStripSizes();
  int64_t multiple = rows < kRowsOfStripPart ? 1 : kRowsOfStripPart;
  uint64_t weights = llvm::alignTo(rows + after.getQueryHalo(), multiple),
           scores = llvm::alignTo(weights + before.getQueryHalo(), multiple);
  // Without mixing after the softmax, of which the weights of all heads are
  // stored first, the heads of the tile.
  int64_t headsOfStrip = after.mixing ? before.getNumMixedHeads() : heads;
  int64_t keys = sizes.elementsOfChunk / (headsOfStrip * int64_t(scores));
  if (int64_t all = op.getKeyType().getDimSize(2); ShapedType::isStatic(all))
    keys = std::min(keys, int64_t(llvm::alignTo(all, kKeysOfStripBlock)));
  return std::clamp<int64_t>(keys / kKeysOfStripBlock * kKeysOfStripBlock,
                             kKeysOfStripBlock, sizes.keysOfChunk);
}

/// What `op` says itself; 0 for what it does not. An error if it says more, or
/// what cannot be.
static FailureOr<StripPlan> getSaid(Operation *op, bool hasKeys) {
  PlanAttr said = getPlan(op);
  if (!said)
    return StripPlan{};
  StripPlan plan = {said.getRows(), hasKeys ? said.getKeys() : 0};
  if (said !=
      PlanAttr::get(op->getContext(), {.rows = plan.rows, .keys = plan.keys}))
    return op->emitError("attn.plan: expected ")
           << (hasKeys ? "'rows' and 'keys'" : "'rows'") << " alone, got "
           << said;
  if (plan.keys % kKeysOfStripBlock != 0)
    return op->emitError("attn.plan: keys: expected a multiple of ")
           << kKeysOfStripBlock << ", got " << plan.keys;
  return plan;
}

/// `rows`, or all that `output` has.
static int64_t limitRows(int64_t rows, Value output) {
  int64_t all = cast<ShapedType>(output.getType()).getDimSize(2);
  return ShapedType::isDynamic(all) ? rows : std::clamp<int64_t>(all, 1, rows);
}

FailureOr<PlanAttr> attn::planForCPU(MultiTokenAttentionOp op) {
  StripPlanner planner(op);
  FailureOr<StripPlan> plan = getSaid(op, planner.hasChunks());
  if (failed(plan))
    return failure();
  if (plan->rows == 0)
    plan->rows = planner.chooseRows();
  plan->rows = limitRows(plan->rows, op.getOutput());
  if (plan->keys == 0)
    plan->keys = planner.chooseKeys(plan->rows);
  return PlanAttr::get(op.getContext(),
                       {.rows = plan->rows, .keys = plan->keys});
}

SmallVector<int64_t> attn::planFewQueries(MultiTokenAttentionOp op) {
  SmallVector<int64_t> few;
  PlanAttr said = getPlan(op);
  if ((said && said.getRows()) || !findObstacle(op).empty())
    return few;
  // What a tile does once takes as long as some 6 rows: whatever number of rows
  // there is, a form takes about twice as long as a tile of just these at most.
  int64_t many = StripPlanner(op).chooseRows();
  for (int64_t rows : {int64_t(1), kRowsOfStripPart, 4 * kRowsOfStripPart})
    if (rows < many)
      few.push_back(rows);
  return few;
}

FailureOr<PlanAttr> attn::planForCPU(MultiTokenAttentionBackwardOp op) {
  FailureOr<StripPlan> plan = getSaid(op, /*hasKeys=*/false);
  if (failed(plan))
    return failure();
  int64_t rows = plan->rows
                     ? plan->rows
                     : CacheModel(getTarget(op)).getMultiTokenBackwardRows();
  return PlanAttr::get(op.getContext(),
                       {.rows = limitRows(rows, op.getOutputGradient())});
}

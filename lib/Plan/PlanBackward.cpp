//===- PlanBackward.cpp - Plans of derivatives ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

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
/// are too few heads of these for threads.
static int64_t chooseHeads(AttentionBackwardOp op, const CacheModel &model) {
  int64_t batch = op.getQueryType().getDimSize(0);
  if (ShapedType::isDynamic(batch) || op.isPacked())
    batch = 1;
  return batch * op.getNumKeyValueHeads() >= model.getIterations()
             ? op.getGroupSize()
             : 1;
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

/// Whether products are of pairs of bf16. Rows of queries, keys and values are
/// lanes of some of them.
template <typename Op> static bool canMultiplyInPairs(Op op) {
  TargetAttr target = getTarget(op);
  if (!target.hasPairs() || !op.getElementType().isBF16())
    return false;
  StringRef reason;
  auto fillsVectors = [&](int64_t size) {
    return size > 0 && size % target.getLanes() == 0;
  };
  if (target.getBf16Tiles())
    reason = "derivatives do not multiply in tiles";
  else if (!fillsVectors(op.getQueryType().getDimSize(3)) ||
           !fillsVectors(op.getValueType().getDimSize(3)))
    reason = "the sizes of heads do not fill vectors";
  else
    reason = whyNotRounded(op);
  if (reason.empty())
    return true;
  op->emitRemark() << "multiplies bf16 as f32, because " << reason;
  return false;
}

/// Tiles of queries, in lanes, and blocks of keys, of an op whose derivatives
/// are `what`; its own plan may say how many of each.
template <typename Op>
static FailureOr<PlanAttr> planTiles(Op op, PlanFields fields, StringRef what,
                                     bool isInPairs) {
  CacheModel model(getTarget(op));
  int64_t lanes = getTarget(op).getVectorBits() /
                  int64_t(op.getAccumulationType().getWidth());
  int64_t size = std::max(op.getQueryType().getDimSize(3),
                          op.getValueType().getDimSize(3));
  bool isNarrow = op.getElementType() != op.getAccumulationType();
  fields.layout = isInPairs ? OnlineLayout::Pairs : OnlineLayout::Lanes;
  fields.rows = op.hasMask() || op.hasScore() ? model.getVariantRows()
                                              : model.getPlainRows();
  fields.lanes = lanes;
  fields.keys = isNarrow ? model.getConvertedKeys(size) : model.getKeys();
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
    if (known.keys % 8 != 0 || known.keys > most)
      return refuse("keys: expected a multiple of 8, of at most 1024",
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
  if (!others.lanes)
    others.lanes = fields.lanes;
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

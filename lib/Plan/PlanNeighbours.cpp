//===- PlanNeighbours.cpp - Other plans to measure ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/PlanNeighbours.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::hasPlanToTune(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return findObstacle(attention).empty();
  if (auto projection = dyn_cast<ProjectionOp>(op))
    return findObstacle(projection).empty();
  auto ofTokens = dyn_cast<MultiTokenAttentionOp>(op);
  return ofTokens && findObstacle(ofTokens).empty();
}

/// The plan of `op` as it stands, for `length` queries.
static FailureOr<PlanAttr> plan(Operation *op, std::optional<int64_t> length) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return length ? planAttention(attention, *length)
                  : planAttention(attention, Device::CPU);
  if (auto projection = dyn_cast<ProjectionOp>(op))
    return planForCPU(projection);
  return planForCPU(cast<MultiTokenAttentionOp>(op));
}

namespace {

/// A number of plans that may differ.
struct Choice {
  int64_t PlanFields::*number;
  int64_t planned; ///< 0: the op has none.
  /// A multiple of it, so as not to be refused in vain.
  int64_t unit = 1;
  int64_t most = 4096;
};

} // namespace

/// Of a kernel that does not know the number of queries, tiles and layouts
/// follow from it: to say them would leave one form for all.
static SmallVector<Choice> listChoices(Operation *op,
                                       const PlanFields &planned) {
  TargetAttr target = getTarget(op);
  CacheModel model(target);
  // What is fetched early, or read again soon, has to stay in the second level.
  int64_t mostBytes = target.getL2Bytes() / 2;
  int64_t ahead = planned.ahead, chunk = planned.chunk;
  if (auto projection = dyn_cast<ProjectionOp>(op)) {
    if (ahead == 0)
      ahead = model.getBytesAhead(projection.hasPanels());
    return {{&PlanFields::rows, planned.rows},
            {&PlanFields::columns, planned.columns, planned.lanes},
            {&PlanFields::features, planned.features, kFeaturesPerTile},
            {&PlanFields::ahead, ahead, target.getLineBytes(), mostBytes}};
  }
  if (auto ofTokens = dyn_cast<MultiTokenAttentionOp>(op)) {
    SmallVector<Choice> choices = {
        {&PlanFields::keys, planned.keys, kKeysOfStripBlock}};
    if (!cast<ShapedType>(ofTokens.getOutput().getType()).isDynamicDim(2))
      choices.push_back({&PlanFields::rows, planned.rows});
    return choices;
  }
  auto attention = cast<AttentionOp>(op);
  if (ahead == 0)
    ahead = model.getBytesUnderWay();
  // Tiles of many queries read from the caches.
  bool readsMemory = chunk > 0 || planned.layout == OnlineLayout::Rows;
  int64_t rowBytes =
      4 * (planned.headSize + attention.getValueType().getDimSize(3));
  SmallVector<Choice> choices = {
      {&PlanFields::keys, planned.keys, /*unit=*/8,
       mostBytes / std::max<int64_t>(rowBytes, 1)},
      {&PlanFields::chunk, chunk, kChunkUnit, int64_t(1) << 20},
      {&PlanFields::ahead, readsMemory ? ahead : 0, target.getLineBytes(),
       mostBytes}};
  bool isKnown =
      !attention.isRagged() && !attention.getQueryType().isDynamicDim(2);
  if (isKnown && planned.layout != OnlineLayout::Rows && !planned.rest)
    choices.push_back({&PlanFields::rows, planned.rows, planned.lanes,
                       /*most=*/256});
  return choices;
}

SmallVector<PlanAttr> attn::listPlanNeighbours(Operation *op,
                                               std::optional<int64_t> length) {
  PlanAttr said = getPlan(op);
  // Errors are of plans that are not proposed.
  ScopedDiagnosticHandler ignored(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<PlanAttr> now = plan(op, length);
  if (failed(now))
    return {};
  SmallVector<PlanAttr> neighbours;
  PlanFields known = said ? said.getFields() : PlanFields();
  auto propose = [&](const PlanFields &fields) {
    auto other = PlanAttr::get(op->getContext(), fields);
    op->setAttr(PlanAttr::kName, other);
    if (FailureOr<PlanAttr> planned = plan(op, length);
        succeeded(planned) && *planned != *now)
      neighbours.push_back(other);
  };
  for (const Choice &choice : listChoices(op, now->getFields())) {
    if (choice.planned == 0)
      continue;
    for (int64_t number : {2 * choice.planned, choice.planned / 2}) {
      number = number / choice.unit * choice.unit;
      if (number == 0 || number > choice.most || number == choice.planned)
        continue;
      PlanFields fields = known;
      fields.*choice.number = number;
      propose(fields);
    }
  }
  if (now->getPacks())
    for (Packs packs : {Packs::Block, Packs::Shared, Packs::Kept}) {
      PlanFields fields = known;
      fields.packs = packs;
      propose(fields);
    }
  if (said)
    op->setAttr(PlanAttr::kName, said);
  else
    op->removeAttr(PlanAttr::kName);
  return neighbours;
}

//===- PlanProjection.cpp - How kernels compute projections ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

std::optional<int64_t> attn::chooseTileColumns(ProjectionOp op, Value out,
                                               int64_t first, int64_t lanes) {
  // A block of registers: four vectors of 16 lanes.
  constexpr int64_t kMostColumns = 64;
  auto type = cast<ShapedType>(out.getType());
  int64_t common = type.getRank() == 4 ? type.getDimSize(3) : 0;
  if (op.hasPanels())
    common = std::gcd(std::gcd(common, op.getPanelWidth()), first);
  for (int64_t n = kMostColumns / lanes * lanes; n >= lanes; n -= lanes)
    if (common % n == 0)
      return n;
  return std::nullopt;
}

StringRef attn::findObstacle(ProjectionOp op) {
  if (op.getAccumulationType().isF64())
    return "its element type is f64";
  if (op->getNumResults() == 0)
    return "it is on memrefs";
  std::optional<int64_t> rows = 1;
  for (int64_t size : op.getInputType().getShape().drop_back())
    if (rows && !ShapedType::isDynamic(size))
      rows = llvm::checkedMul(*rows, size);
  if (!rows)
    return "it has more rows than an index counts";
  int64_t column = 0, lanes = getTarget(op).getLanes();
  for (auto [out, features] :
       llvm::zip(op.getOuts(), op.getNumOutputFeatures())) {
    if (!chooseTileColumns(op, out, column, lanes))
      return "its heads or panels do not fill vectors";
    column += features;
  }
  return {};
}

/// Whether many rows are multiplied in pairs of bf16: by a weight that is in
/// pairs, or is converted to them as a whole.
static bool canComputeInPairs(ProjectionOp op, TargetAttr target) {
  Type input = op.getInputType().getElementType(),
       weight = op.getWeightType().getElementType();
  if (!target.hasPairs() || op.getNumInputFeatures() % kFeaturesPerTile != 0)
    return false;
  if (op.isInPairs() && weight.isBF16())
    return true;
  // Parts of f32 and f16 pay for a conversion in tiles alone.
  return op.hasPanels() && (weight.isBF16() || weight.isInteger(8)) &&
         (target.getBf16Tiles() || input.isBF16());
}

int64_t attn::countParts(ProjectionOp op) {
  // bf16 has 8 bits, f16 11 and f32 24.
  Type input = op.getInputType().getElementType();
  return input.isBF16() ? 1 : input.isF16() ? 2 : 3;
}

FailureOr<PlanAttr> attn::planProjection(ProjectionOp op) {
  TargetAttr target = getTarget(op);
  CacheModel model(target);
  PlanAttr said = getPlan(op);
  auto refuse = [&](StringRef name) {
    return op.emitError("attn.plan: ") << name << ": ";
  };
  auto use = [&](int64_t (PlanAttr::*get)() const, int64_t chosen) {
    int64_t given = said ? (said.*get)() : 0;
    return given ? given : chosen;
  };
  bool hasPairs = canComputeInPairs(op, target);
  OnlineLayout layout = said && said.getLayout() ? *said.getLayout()
                        : hasPairs               ? OnlineLayout::Pairs
                                                 : OnlineLayout::Lanes;
  if (layout == OnlineLayout::Pairs && !hasPairs)
    return refuse("layout") << "expected a weight of bf16 or i8, a multiple of "
                            << kFeaturesPerTile
                            << " features, and a target that multiplies pairs "
                               "for 'pairs'";
  if (layout != OnlineLayout::Pairs && layout != OnlineLayout::Lanes)
    return refuse("layout") << "expected 'lanes' or 'pairs', got '"
                            << stringifyOnlineLayout(layout) << "'";
  CacheModel::ProjectionSizes sizes = model.getProjectionSizes(
      layout == OnlineLayout::Pairs,
      layout == OnlineLayout::Pairs ? countParts(op) : 1);
  int64_t lanes = use(&PlanAttr::getLanes, target.getLanes());
  if (lanes != target.getLanes())
    return refuse("lanes") << "expected " << target.getLanes() << ", got "
                           << lanes;
  if (said && said.getFeatures() % kFeaturesPerTile != 0)
    return refuse("features") << "expected a multiple of " << kFeaturesPerTile
                              << ", got " << said.getFeatures();
  if (said && (said.getHeads() || said.getHeadSize() || said.getKeys() ||
               said.getChunk() || said.getBatchInvariant()))
    return refuse("heads, head_size, keys, chunk and batch_invariant")
           << "are of attention, not of a projection";
  return PlanAttr::get(op.getContext(),
                       {.layout = layout,
                        .rows = use(&PlanAttr::getRows, sizes.rows),
                        .lanes = lanes,
                        .columns = use(&PlanAttr::getColumns, sizes.columns),
                        .features = use(&PlanAttr::getFeatures, sizes.features),
                        .ahead = use(&PlanAttr::getAhead, 0)});
}

Packs attn::choosePacksOfRows(int64_t bits, int64_t tileBytes,
                              std::optional<int64_t> allBytes, bool hasOneLoop,
                              const CacheModel &model) {
  // Each of several loops would pack them again. Products of f32 take longer
  // than what they wait for. What fits into the second-level cache as a whole
  // stays there, and what of a tile does not, has left it.
  int64_t most = model.getResidentBytes();
  bool isBetterKept = hasOneLoop && bits <= 16 && tileBytes <= most &&
                      !(allBytes && *allBytes <= most);
  return isBetterKept ? Packs::kept : Packs::shared;
}

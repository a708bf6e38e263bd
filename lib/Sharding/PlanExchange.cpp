//===- PlanExchange.cpp - How ranks come to the keys of others ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/ExchangeModel.h"
#include "lib/Sharding/Passes.h"
#include "lib/Sharding/Sharding.h"
#include "lib/Sharding/Splits.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_PLANEXCHANGE
#include "lib/Sharding/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// What another way than the ring has to take of its time: the ring needs the
/// least memory, and where much is computed, ways differ by less than what
/// computing varies by.
static constexpr double kMostOfRing = 0.96;
/// Where keys and values of all ranks need more than that, a context may be
/// split because it does not fit.
static constexpr double kMostGathered = 1 << 30;

/// What the mask reads of tables is not known, nor where sequences end.
static bool isKnown(AttentionOp op) {
  return !op.isPacked() &&
         llvm::none_of(op.getMaskCaptures().getTypes(),
                       [](Type type) { return isa<ShapedType>(type); });
}

static StringRef choose(AttentionOp op, const AttentionAxes &axes,
                        const Splits &splits, LinkAttr link, bool explains) {
  int64_t ranks = splits.getNumRanks(axes.keys),
          heads = op.getNumKeyValueHeads() / splits.getNumRanks(axes.heads);
  if (ranks == 1 || !isKnown(op))
    return kRing;
  ExchangeTimes times = computeExchangeTimes(
      op, TileSight<AttentionOp>(op, ranks).getLoads(axes.isZigzag),
      getRankSpeeds(op, link));
  if (explains) {
    auto show = [](double seconds) {
      return std::to_string(std::llround(1e6 * seconds)) + " us";
    };
    op.emitRemark("a ring takes ")
        << show(times.ring) << ", gathering keys and values "
        << show(times.gather) << ", exchanging heads " << show(times.ulysses);
  }
  StringRef best = kRing;
  double least = kMostOfRing * times.ring;
  if (times.gather < least && times.bytesOfKeys <= kMostGathered) {
    best = kGather;
    least = times.gather;
  }
  if (times.ulysses >= least)
    return best;
  if (heads % ranks == 0)
    return kUlysses;
  op.emitRemark("exchanges no heads for rows, which would be faster, since ")
      << ranks << " ranks cannot share " << heads << " key/value heads evenly";
  return best;
}

/// What the grid says; what was measured otherwise.
static LinkAttr getLink(func::FuncOp func, const RankGrid &grid,
                        std::optional<MeasuredLink> measured) {
  MLIRContext *context = func.getContext();
  auto op = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(
      func, StringAttr::get(context, grid.name));
  if (auto link = op->getAttrOfType<LinkAttr>(LinkAttr::kName))
    return link;
  auto twoProcesses =
      cast<LinkAttr>(parseAttribute("#attn.link<shared = true>", context));
  if (!measured)
    return twoProcesses;
  return LinkAttr::get(
      context, std::llround(1e9 * measured->latency),
      std::max<int64_t>(std::llround(1e-6 * measured->bandwidth), 1),
      twoProcesses.getStepNs(), measured->isShared);
}

LogicalResult attn::planExchanges(func::FuncOp func, int64_t ranks,
                                  std::optional<MeasuredLink> measured,
                                  bool explains) {
  FailureOr<Annotations> annotations = readAnnotations(func, ranks);
  if (failed(annotations))
    return failure();
  if (annotations->empty())
    return success();
  // Splits are those of a function without annotations.
  IRMapping mapping;
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(func->clone(mapping));
  Annotations ofCopy{annotations->grid, {}};
  for (const auto &[value, annotation] : annotations->splits)
    ofCopy.splits.insert({mapping.lookup(value), annotation});
  dropAnnotations(*copy);
  FailureOr<Splits> splits = Splits::solve(*copy, ofCopy);
  if (failed(splits))
    return failure();
  LinkAttr link = getLink(func, annotations->grid, measured);
  func.walk([&](AttentionOp op) {
    AttentionAxes axes =
        splits->getAxes(cast<AttentionOp>(mapping.lookup(op.getOperation())));
    if (op->hasAttr(kExchangeName) || axes.keys == kWhole ||
        axes.keys != axes.queries)
      return;
    op->setAttr(kExchangeName,
                StringAttr::get(op.getContext(),
                                choose(op, axes, *splits, link, explains)));
  });
  return success();
}

namespace {
struct PlanExchange : attn::impl::PlanExchangeBase<PlanExchange> {
  using PlanExchangeBase::PlanExchangeBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() &&
          failed(planExchanges(func, ranks, std::nullopt, explain)))
        return signalPassFailure();
  }
};
} // namespace

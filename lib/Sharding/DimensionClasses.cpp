//===- DimensionClasses.cpp - Dimensions that are split alike -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/DimensionClasses.h"
#include "lib/Sharding/Annotations.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

DimensionClasses::DimensionClasses(func::FuncOp func) {
  unsigned count = 0;
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || value.getDefiningOp<tensor::EmptyOp>())
      return;
    first[value] = count;
    count += unsigned(type.getRank());
  };
  for (BlockArgument argument : func.getArguments())
    add(argument);
  func.walk([&](Operation *op) { llvm::for_each(op->getResults(), add); });
  classes.grow(count);
  func.walk([&](Operation *op) { link(op); });
  classes.compress();
}

void DimensionClasses::join(Value value, int64_t dim, Value other,
                            int64_t otherDim) {
  auto one = first.find(value), two = first.find(other);
  if (one != first.end() && two != first.end())
    classes.join(one->second + unsigned(dim), two->second + unsigned(otherDim));
}

void DimensionClasses::joinFirst(Value value, Value other, int64_t count) {
  auto rankOf = [](Value of) {
    auto type = dyn_cast<RankedTensorType>(of.getType());
    return type ? type.getRank() : 0;
  };
  for (int64_t dim = 0; dim < std::min({count, rankOf(value), rankOf(other)});
       ++dim)
    join(value, dim, other, dim);
}

void DimensionClasses::joinAll(Value value, Value other) {
  joinFirst(value, other, std::numeric_limits<int64_t>::max());
}

void DimensionClasses::link(Operation *op) {
  // What attention writes to is made anew.
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op);
      destination && !isa<AttentionOp, AttentionBackwardOp>(op))
    for (OpResult result : op->getResults())
      joinAll(result, destination.getTiedOpOperand(result)->get());
  TypeSwitch<Operation *>(op)
      .Case<AttentionOp, AttentionBackwardOp, ProjectionOp, CacheAppendOp,
            CacheReadOp, MergeOp, linalg::LinalgOp>([&](auto op) { link(op); })
      .Case<RopeOp, HeadNormOp, DropoutOp>(
          [&](auto op) { joinAll(op.getInput(), op->getResult(0)); })
      .Case([&](tensor::CastOp op) { joinAll(op.getSource(), op.getResult()); })
      .Default([&](Operation *op) {
        if (OpTrait::hasElementwiseMappableTraits(op))
          for (Value operand : op->getOperands())
            joinAll(operand, op->getResult(0));
      });
}

template <typename Op> void DimensionClasses::linkOperands(Op op) {
  Value query = op.getQuery(), key = op.getKey();
  // The queries of a packed batch may belong to other batch entries of keys.
  if (!op.isPacked())
    join(query, 0, key, 0);
  join(query, 1, key, 1);
  joinFirst(key, op.getValue(), 3);
}

void DimensionClasses::link(AttentionOp op) {
  linkOperands(op);
  for (Value result : op.getResults())
    joinFirst(op.getQuery(), result, 3);
}

void DimensionClasses::link(AttentionBackwardOp op) {
  linkOperands(op);
  for (Value ofRows : {op.getOutput(), op.getLogSumExp(),
                       op.getOutputGradient(), op.getLogSumExpGradient()})
    if (ofRows)
      joinFirst(op.getQuery(), ofRows, 3);
  // The gradients of what is whole are, too.
  if (op->getNumResults() == 0)
    return;
  joinAll(op.getQuery(), op.getResult(0));
  joinAll(op.getKey(), op.getResult(1));
  joinAll(op.getValue(), op.getResult(2));
}

void DimensionClasses::link(ProjectionOp op) {
  Value input = op.getInput(), weight = op.getWeight();
  int64_t columns = ProjectionDims::weightColumns(op);
  join(input, ProjectionDims::features(input), weight,
       ProjectionDims::weightRows(op));
  for (Value result : op.getResults()) {
    join(input, 0, result, 0);
    join(input, ProjectionDims::rows(input), result,
         ProjectionDims::rows(result));
    join(result, ProjectionDims::features(result), weight, columns);
  }
  for (Value ofColumns : {op.getScales(), op.getBias()})
    if (ofColumns)
      join(ofColumns, 0, weight, columns);
  if (op->getNumResults() == 1)
    return;
  SmallVector<int64_t> sizes = op.getNumOutputFeatures();
  for (Value ofColumns : {op.getScales(), op.getBias()})
    if (ofColumns)
      segments[{ofColumns, 0}] = sizes;
  // Of panels.
  if (op.hasPanels())
    for (int64_t &size : sizes)
      size /= op.getPanelWidth();
  segments[{weight, columns}] = sizes;
}

void DimensionClasses::link(CacheAppendOp op) {
  Value rows = op.getRows(), cache = op.getCache();
  join(rows, 1, cache, 1);
  // The first dimension of others is that of pages, or of all sequences.
  if (!op.isPaged() && !op.getSequences())
    join(rows, 0, cache, 0);
  if (op.isPaged())
    axisLinks.push_back({cache, 0, op.getTable(), 1});
  if (op.getScales())
    joinFirst(cache, op.getScales(), 3);
}

void DimensionClasses::link(CacheReadOp op) {
  join(op.getCache(), 1, op.getResult(), 1);
  if (!op.isPaged())
    join(op.getCache(), 0, op.getResult(), 0);
  if (op.isPaged()) {
    axisLinks.push_back({op.getCache(), 0, op.getTable(), 1});
    axisLinks.push_back({op.getTable(), 1, op.getResult(), kRows});
  } else {
    axisLinks.push_back({op.getCache(), kRows, op.getResult(), kRows});
  }
  if (op.getScales())
    joinFirst(op.getCache(), op.getScales(), 3);
}

void DimensionClasses::link(MergeOp op) {
  for (Value other : {op.getLse1(), op.getOutput2(), op.getLse2()})
    joinFirst(op.getOutput1(), other, 3);
  for (Value result : op.getResults())
    joinAll(op.getOutput1(), result);
}

void DimensionClasses::link(linalg::LinalgOp op) {
  SmallVector<std::pair<Value, int64_t>> ofLoops(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = op.isDpsInit(&operand) && op->getNumResults() > 0
                      ? op.getTiedOpResult(&operand)
                      : operand.get();
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop || !first.contains(value))
        continue;
      auto &[other, ofOther] = ofLoops[loop.getPosition()];
      if (other)
        join(other, ofOther, value, int64_t(dim));
      else
        ofLoops[loop.getPosition()] = {value, int64_t(dim)};
    }
  }
}

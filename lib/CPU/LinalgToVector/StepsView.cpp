//===- StepsView.cpp - Some steps of an operand ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/StepsView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

int64_t attn::countBytes(MemRefType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

int64_t attn::getMostIterations(scf::ForOp loop) {
  if (getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1)
    return 0;
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {loop.getUpperBound()},
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  return succeeded(bound) ? *bound : 0;
}

std::optional<StepsView> StepsView::of(Value operand) {
  auto pairs = operand.getDefiningOp<memref::ExpandShapeOp>();
  if (pairs)
    operand = pairs.getSrc();
  auto view = operand.getDefiningOp<memref::SubViewOp>();
  if (!view)
    return std::nullopt;
  unsigned dim = 0;
  while (view.getDroppedDims().test(dim))
    ++dim;
  int64_t numSteps = view.getType().getDimSize(0);
  if (view.getSourceType().getDimSize(dim) == numSteps)
    return std::nullopt;
  return StepsView{pairs, view, dim, numSteps};
}

bool StepsView::areLast() {
  return getConstantIntValue(view.getMixedOffsets()[dim]) ==
         view.getSourceType().getDimSize(dim) - numSteps;
}

Value StepsView::getNextStep(OpBuilder &b) {
  Location loc = view.getLoc();
  Value count = arith::ConstantIndexOp::create(b, loc, numSteps);
  Value here =
      getValueOrCreateConstantIndexOp(b, loc, view.getMixedOffsets()[dim]);
  Value next = arith::AddIOp::create(b, loc, here, count);
  Value end = memref::DimOp::create(b, loc, view.getSource(), dim);
  Value last = arith::SubIOp::create(b, loc, end, count);
  return arith::MinUIOp::create(b, loc, next, last);
}

Value StepsView::get(OpBuilder &b, OpFoldResult first) {
  Location loc = view.getLoc();
  SmallVector<OpFoldResult> offsets = view.getMixedOffsets();
  offsets[dim] = first;
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      view.getType().getShape(), view.getSourceType(), offsets,
      view.getMixedSizes(), view.getMixedStrides());
  Value steps =
      memref::SubViewOp::create(b, loc, type, view.getSource(), offsets,
                                view.getMixedSizes(), view.getMixedStrides());
  if (!pairs)
    return steps;
  return memref::ExpandShapeOp::create(b, loc, pairs.getType().getShape(),
                                       steps, pairs.getReassociationIndices());
}

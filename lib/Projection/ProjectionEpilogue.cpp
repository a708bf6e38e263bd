//===- ProjectionEpilogue.cpp - What follows a projection -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Projection/ProjectionTiles.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether the body can be computed for a vector of elements.
static bool isElementwise(linalg::GenericOp op) {
  return llvm::all_of(
      op.getBody()->without_terminator(), [](Operation &nested) {
        return nested.hasTrait<OpTrait::ConstantLike>() ||
               (OpTrait::hasElementwiseMappableTraits(&nested) &&
                isMemoryEffectFree(&nested));
      });
}

/// Whether a vector of elements, along the last loop, lies in one place in each
/// operand, and each element of the result is written and not read.
static bool hasRows(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !op.getIndexingMapMatchingResult(op->getResult(0)).isIdentity())
    return false;
  unsigned last = op.getNumLoops() - 1;
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return map.isProjectedPermutation() &&
           (!map.isFunctionOfDim(last) ||
            map.getResults().back() ==
                getAffineDimExpr(last, map.getContext()));
  });
}

/// Whether a projection computes the elements of an operand for `op` alone.
static bool isComputedFor(linalg::GenericOp op, OpOperand *operand) {
  auto projection = operand->get().getDefiningOp<ProjectionOp>();
  return projection && projection->getNumResults() == 1 &&
         projection->getBlock() == op->getBlock() &&
         op.getMatchingIndexingMap(operand).isIdentity() &&
         llvm::all_of(operand->get().getUses(), [&](OpOperand &use) {
           return &use == operand || isa<tensor::DimOp>(use.getOwner());
         });
}

/// Whether both have the same tiles of the same rows.
static bool hasSameTiles(ProjectionOp a, ProjectionOp b) {
  return a.getInput() == b.getInput() &&
         a.getWeightType() == b.getWeightType() &&
         a.getOuts().front().getType() == b.getOuts().front().getType() &&
         a.getInputType().getDimSize(0) == 1;
}

std::optional<ProjectionEpilogue>
ProjectionEpilogue::find(ProjectionOp projection) {
  if (projection->getNumResults() != 1)
    return std::nullopt;
  ProjectionEpilogue found;
  for (Operation *user : projection->getUsers())
    if (auto op = dyn_cast<linalg::GenericOp>(user))
      found.op = op;
  if (!found.op || !hasRows(found.op) || !isElementwise(found.op))
    return std::nullopt;
  SmallVector<OpOperand *> computed;
  for (OpOperand *operand : found.op.getDpsInputOperands())
    if (isComputedFor(found.op, operand))
      computed.push_back(operand);
  if (computed.empty())
    return std::nullopt;
  found.stored = *llvm::max_element(computed, [&](OpOperand *a, OpOperand *b) {
    return found.getProjection(a)->isBeforeInBlock(found.getProjection(b));
  });
  if (found.getProjection(found.stored) != projection)
    return std::nullopt;
  for (OpOperand *operand : computed)
    if (operand != found.stored &&
        hasSameTiles(found.getProjection(operand), projection))
      found.others.push_back(operand);
  return found;
}

void ProjectionEpilogue::moveProjections(RewriterBase &rewriter) const {
  SmallVector<OpOperand *> computed = llvm::to_vector(others);
  computed.push_back(stored);
  for (OpOperand *operand : computed) {
    ProjectionOp projection = getProjection(operand);
    rewriter.replaceUsesWithIf(
        operand->get(), projection.getOuts().front(),
        [](OpOperand &use) { return isa<tensor::DimOp>(use.getOwner()); });
    rewriter.moveOpBefore(projection, op);
  }
}

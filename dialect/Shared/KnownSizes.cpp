//===- KnownSizes.cpp - What is known of sizes and indices ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/KnownSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isKnownMultiple(OpFoldResult index, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return *constant % factor == 0;
  auto value = cast<Value>(index);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() &&
           isKnownMultiple(loop.getLowerBound(), factor) &&
           isKnownMultiple(loop.getStep(), factor);
  }
  Operation *op = value.getDefiningOp();
  auto areMultiples = [&] {
    return llvm::all_of(op->getOperands(),
                        [&](Value v) { return isKnownMultiple(v, factor); });
  };
  auto isAnyMultiple = [&] {
    return llvm::any_of(op->getOperands(),
                        [&](Value v) { return isKnownMultiple(v, factor); });
  };
  if (isa<arith::MulIOp>(op) ||
      (isa<arith::AndIOp>(op) && llvm::isPowerOf2_64(factor)))
    return isAnyMultiple();
  return isa<arith::AddIOp, arith::SubIOp>(op) && areMultiples();
}

std::optional<int64_t> attn::getKnownMost(Value shaped, int64_t dim) {
  FailureOr<int64_t> most = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {shaped, dim}, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  return succeeded(most) ? std::optional(*most) : std::nullopt;
}

//===- RegionDivision.cpp - Divisions of scores by one number -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of RegionVectorizer that divides by what is the same everywhere: a
// vector takes as long to divide as to multiply sixteen times.
//

#include "lib/CPU/AttnToVector/RegionVectorization.h"
#include "lib/Regions/Reciprocal.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

void RegionVectorizer::buildReciprocals() {
  for (auto division : region.front().getOps<arith::DivFOp>()) {
    Value divisor = division.getRhs();
    if (!division.getType().isF32() || !isOnRow(*division) ||
        dependence.onRow(divisor) || dependence.onLane(divisor) ||
        !hasSmoothUses(division))
      continue;
    auto [inverse, power] = emitReciprocal(b, get(divisor).scalar);
    VectorType vector = b.getPieceType(division.getType());
    reciprocals[division] = {b.create<vector::BroadcastOp>(vector, inverse),
                             b.create<vector::BroadcastOp>(vector, power)};
  }
}

FailureOr<LaneValue> RegionVectorizer::evaluateDivision(Operation *op) {
  auto found = reciprocals.find(op);
  if (found == reciprocals.end())
    return failure();
  auto [inverse, power] = found->second;
  Pieces pieces = arithmetic.toVectors(get(op->getOperand(0)));
  for (Value &piece : pieces) {
    Value product = b.create<arith::MulFOp>(piece, inverse);
    piece = b.create<arith::MulFOp>(product, power);
  }
  return LaneValue::varying(op->getResult(0).getType(), std::move(pieces));
}

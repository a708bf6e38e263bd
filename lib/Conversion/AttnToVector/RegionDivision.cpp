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

#include "dialect/AttnOps.h"
#include "lib/Conversion/AttnToVector/RegionVectorization.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a score that a value is part of changes no more than the value.
static bool hasSmoothUses(Value value) {
  SmallVector<Value> left = {value};
  DenseSet<Value> seen;
  while (!left.empty())
    for (OpOperand &use : left.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user))
        continue;
      bool isSmooth =
          isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
              arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
              arith::MinNumFOp, math::AbsFOp, math::FmaOp, math::ExpOp,
              math::Exp2Op, math::TanhOp>(user) ||
          (isa<arith::DivFOp>(user) && use.getOperandNumber() == 0) ||
          (isa<arith::SelectOp>(user) && use.getOperandNumber() > 0);
      if (!isSmooth)
        return false;
      if (seen.insert(user->getResult(0)).second)
        left.push_back(user->getResult(0));
    }
  return true;
}

/// x / y is x * a * b with b a power of two that keeps a = 1 / (y * b) a normal
/// number. Infinite numbers, zeros and NaN come out as of the division.
void RegionVectorizer::buildReciprocals() {
  for (auto division : region.front().getOps<arith::DivFOp>()) {
    Value divisor = division.getRhs();
    if (!division.getType().isF32() || !isOnRow(*division) ||
        dependence.onRow(divisor) || dependence.onLane(divisor) ||
        !hasSmoothUses(division))
      continue;
    Value y = get(divisor).scalar;
    Type f32 = y.getType();
    constexpr double kLimit = 0x1p64;
    auto compare = [&](arith::CmpFPredicate predicate, double number) -> Value {
      Value magnitude = b.create<math::AbsFOp>(y);
      return b.create<arith::CmpFOp>(predicate, magnitude,
                                     b.number(f32, number));
    };
    Value power =
        b.create<arith::SelectOp>(compare(arith::CmpFPredicate::OGT, kLimit),
                                  b.number(f32, 1 / kLimit), b.number(f32, 1));
    power = b.create<arith::SelectOp>(
        compare(arith::CmpFPredicate::OLT, 1 / kLimit), b.number(f32, kLimit),
        power);
    Value product = b.create<arith::MulFOp>(y, power);
    Value inverse = b.create<arith::DivFOp>(b.number(f32, 1), product);
    VectorType vector = b.getPieceType(f32);
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

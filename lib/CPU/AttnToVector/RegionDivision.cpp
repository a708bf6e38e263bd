//===- RegionDivision.cpp - Divisions in lanes ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of RegionVectorizer that divides. By what is the same everywhere,
// scores are multiplied: a vector takes as long to divide as to multiply
// sixteen times. Integers of 32 bits are divided as f64, in which their
// quotients are on the right side of every integer: processors have no division
// of integers in lanes.
//

#include "lib/CPU/AttnToVector/RegionVectorization.h"
#include "lib/Regions/Reciprocal.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

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
    Value product = b.mul(piece, inverse);
    piece = b.mul(product, power);
  }
  return LaneValue::varying(op->getResult(0).getType(), std::move(pieces));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Division by constants is left to LLVM, which multiplies.
bool RegionVectorizer::isDivisionByVariable(Operation *op) {
  APInt divisor;
  return isDivision(op) &&
         (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
          divisor.isZero() || divisor.isAllOnes());
}

Pieces RegionVectorizer::replaceMissing(const Pieces &divisors,
                                        Type elementType) {
  Value one = b.integer(b.getPieceType(elementType), 1);
  Pieces results;
  for (auto [divisor, exists] : llvm::zip_equal(divisors, getExistingLanes()))
    results.push_back(b.select(exists, divisor, one));
  return results;
}

Pieces RegionVectorizer::divideWords(Operation *op, const Pieces &dividends,
                                     const Pieces &divisors, bool isSigned) {
  VectorType words = b.getPieceType(b.getI32Type()),
             numbers = b.getPieceType(b.getF64Type());
  auto toNumber = [&](Value word) -> Value {
    if (isSigned)
      return b.create<arith::SIToFPOp>(numbers, word);
    return b.create<arith::UIToFPOp>(numbers, word);
  };
  Pieces results;
  for (auto [dividend, divisor] : llvm::zip_equal(dividends, divisors)) {
    Value quotient = b.div(toNumber(dividend), toNumber(divisor));
    if (isa<arith::FloorDivSIOp>(op))
      quotient = b.create<math::FloorOp>(quotient);
    else if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
      quotient = b.create<math::CeilOp>(quotient);
    Value word = isSigned ? Value(b.create<arith::FPToSIOp>(words, quotient))
                          : Value(b.create<arith::FPToUIOp>(words, quotient));
    if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      word = b.create<arith::SubIOp>(dividend,
                                     b.create<arith::MulIOp>(word, divisor));
    results.push_back(word);
  }
  return results;
}

Pieces RegionVectorizer::divideElements(Operation *op, const Pieces &dividends,
                                        const Pieces &divisors,
                                        Type elementType) {
  bool isSigned = isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
                      arith::RemSIOp>(op);
  if (elementType.isInteger(32))
    return divideWords(op, dividends, divisors, isSigned);
  if (!isSigned)
    return buildPieces(op, {dividends, divisors}, elementType);
  // The least number, which a lane without a query may have, divided by -1
  // traps.
  VectorType vector = b.getPieceType(elementType);
  Value one = b.integer(vector, 1), minusOne = b.integer(vector, -1);
  Pieces isMinusOne, safe;
  for (Value divisor : divisors) {
    isMinusOne.push_back(
        b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, divisor, minusOne));
    safe.push_back(b.select(isMinusOne.back(), one, divisor));
  }
  Pieces results = buildPieces(op, {dividends, safe}, elementType);
  if (isa<arith::RemSIOp>(op))
    return results;
  for (auto [result, condition] : llvm::zip_equal(results, isMinusOne)) {
    Value negated = b.create<arith::SubIOp>(b.integer(vector, 0), result);
    result = b.select(condition, negated, result);
  }
  return results;
}

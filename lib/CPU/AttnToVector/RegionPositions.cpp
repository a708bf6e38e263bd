//===- RegionPositions.cpp - Positions in regions over lanes --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of RegionVectorizer that keeps positions out of vectors of i64: as
// scalar + stride * lane, or in i32 where every lane fits.
//

#include "lib/CPU/AttnToVector/RegionVectorization.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// The bound of an integer that the op computes, if it does not wrap.
Bound RegionVectorizer::getBound(Operation *op) {
  return getUnwrappedBound(op).unlessWrapping();
}

Bound RegionVectorizer::getUnwrappedBound(Operation *op) {
  Type type = op->getResult(0).getType();
  if (std::optional<int64_t> constant = getConstant(op->getResult(0)))
    return Bound::ofConstant(*constant);
  auto bound = [&](unsigned operand) {
    return get(op->getOperand(operand)).bound;
  };
  if (isa<arith::AddIOp, index::AddOp>(op))
    return bound(0) + bound(1);
  if (isa<arith::SubIOp, index::SubOp>(op)) {
    Bound difference = bound(0) + bound(1);
    difference.nonNegative = false;
    return difference;
  }
  if (isa<arith::MulIOp, index::MulOp>(op))
    return bound(0) * bound(1);
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return bound(0).join(bound(1));
  // Division by an integer never grows, whichever way it rounds.
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op)) {
    Bound quotient = bound(0);
    quotient.nonNegative &= bound(1).nonNegative;
    return quotient;
  }
  if (isa<arith::RemSIOp>(op)) {
    Bound remainder = bound(1);
    remainder.nonNegative = bound(0).nonNegative;
    return remainder;
  }
  if (isa<arith::AndIOp>(op)) { // Zeros of either stay.
    Bound lhs = bound(0), rhs = bound(1);
    bool left =
        lhs.nonNegative && (!rhs.nonNegative || lhs.always < rhs.always);
    return left ? lhs : rhs.nonNegative ? rhs : Bound();
  }
  if (isa<arith::SelectOp>(op))
    return bound(1).join(bound(2));
  if (isa<math::AbsIOp>(op)) {
    Bound absolute = bound(0);
    absolute.nonNegative = true;
    return absolute;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, index::CastSOp>(op)) {
    Type from = op->getOperand(0).getType();
    if (isPositionType(from) && isPositionType(type))
      return bound(0);
    if (from.isIntOrFloat() && from.getIntOrFloatBitWidth() < 64) {
      uint64_t limit = uint64_t(1) << (from.getIntOrFloatBitWidth() - 1);
      return {limit, limit, false};
    }
  }
  return {};
}

std::optional<CmpIPredicate> RegionVectorizer::getPredicate(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate();
  if (auto compare = dyn_cast<index::CmpOp>(op))
    return arith::symbolizeCmpIPredicate(
        index::stringifyIndexCmpPredicate(compare.getPred()));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

FailureOr<LaneValue> RegionVectorizer::evaluateAffine(Operation *op) {
  SmallVector<LaneValue, 2> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  if (llvm::any_of(operands, [](const LaneValue &value) {
        return value.isVarying() || !isPositionType(value.type);
      }))
    return failure();
  auto checked = [](LaneValue value) {
    value.bound = value.bound.unlessWrapping();
    return value;
  };
  if (isa<arith::AddIOp, index::AddOp>(op))
    return checked(arithmetic.addAffine(operands[0], operands[1], 1));
  if (isa<arith::SubIOp, index::SubOp>(op))
    return checked(arithmetic.addAffine(operands[0], operands[1], -1));
  if (isa<arith::MulIOp, index::MulOp>(op)) {
    // Strides are small, so that they are exact.
    constexpr int64_t kMaxFactor = 1 << 16;
    for (unsigned side : {0, 1}) {
      std::optional<int64_t> factor = getConstant(operands[side].scalar);
      const LaneValue &other = operands[1 - side];
      if (factor && operands[side].isUniform() && *factor != 0 &&
          std::abs(*factor) <= kMaxFactor &&
          std::abs(other.stride) <= kMaxFactor)
        return checked(arithmetic.multiplyAffine(other, *factor));
    }
    return failure();
  }
  Type type = op->getResult(0).getType();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, index::CastSOp,
          index::CastUOp>(op) &&
      isPositionType(type)) {
    LaneValue value = operands[0];
    if (value.type != type)
      value.scalar = b.createOrFold<arith::IndexCastOp>(type, value.scalar);
    value.type = type;
    return value;
  }
  if (std::optional<CmpIPredicate> predicate = getPredicate(op))
    return arithmetic.compareAffine(*predicate, operands[0], operands[1]);
  return failure();
}

/// Whether an op on i64 gives the low half of its result on the low halves, if
/// all operands and the result fit them.
static bool hasNarrowForm(Operation *op,
                          function_ref<bool(Value)> nonNegative) {
  auto allNonNegative = [&] {
    return llvm::all_of(op->getOperands(), nonNegative);
  };
  if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op))
    return allNonNegative();
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
    std::optional<int64_t> amount = getConstant(op->getOperand(1));
    return amount && *amount >= 0 && *amount < 32 &&
           (isa<arith::ShRSIOp>(op) || allNonNegative());
  }
  // Sign extension keeps the order of unsigned numbers too.
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, index::AddOp,
             index::SubOp, index::MulOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
             arith::MaxUIOp, arith::DivSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::RemSIOp, arith::SelectOp, math::AbsIOp,
             arith::CmpIOp, index::CmpOp>(op);
}

/// Whether an op may leave i32 although its operands fit.
static bool mayGrow(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, index::AddOp,
             index::SubOp, index::MulOp, math::AbsIOp>(op);
}

FailureOr<LaneValue> RegionVectorizer::evaluateNarrow(Operation *op) {
  Type type = op->getResult(0).getType();
  bool onPositions = llvm::any_of(op->getOperands(), [&](Value operand) {
    return isPositionType(operand.getType());
  });
  if (!onPositions || !hasNarrowForm(op, [&](Value operand) {
        return get(operand).bound.nonNegative;
      }))
    return failure();
  for (Value operand : op->getOperands())
    if (isPositionType(operand.getType()) && !arithmetic.isNarrow(get(operand)))
      return failure();
  Bound bound = getBound(op);
  if (mayGrow(op) && bound.guarded > uint64_t(INT32_MAX))
    return failure();
  SmallVector<Pieces> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isPositionType(operand.getType())
                           ? arithmetic.toNarrowVectors(get(operand))
                           : arithmetic.toVectors(get(operand)));
  if (isDivision(op) && dependence.onLane(op->getOperand(1)))
    operands[1] = replaceMissing(operands[1], b.getI32Type());
  if (isDivisionByVariable(op))
    return LaneValue::varying(
        type, divideWords(op, operands[0], operands[1], /*isSigned=*/true),
        bound);
  Type element = isPositionType(type) ? Type(b.getI32Type()) : type;
  return LaneValue::varying(type, buildPieces(op, operands, element), bound);
}

/// |x| <= c in i32 is x + c <= 2 * c without signs, and x + c of x = y - z is
/// (y + c) - z or y - (z - c). One of y and z is the same for all keys.
FailureOr<LaneValue> RegionVectorizer::evaluateNear(Operation *op) {
  std::optional<CmpIPredicate> predicate = getPredicate(op);
  if (predicate != CmpIPredicate::sle && predicate != CmpIPredicate::slt)
    return failure();
  auto magnitude = op->getOperand(0).getDefiningOp<math::AbsIOp>();
  std::optional<int64_t> limit = getConstant(op->getOperand(1));
  if (!magnitude || !limit)
    return failure();
  int64_t most = predicate == CmpIPredicate::slt ? *limit - 1 : *limit;
  LaneValue number = get(magnitude.getOperand());
  if (most < 0 || most > INT32_MAX / 2 || !arithmetic.isNarrow(number))
    return failure();
  VectorType vector = b.getPieceType(b.getI32Type());
  Value shift = b.integer(vector, most);
  Pieces pieces;
  Operation *difference = magnitude.getOperand().getDefiningOp();
  if (number.isVarying() && difference &&
      isa<arith::SubIOp, index::SubOp>(difference) &&
      arithmetic.isNarrow(get(difference->getOperand(0))) &&
      arithmetic.isNarrow(get(difference->getOperand(1)))) {
    Pieces from = arithmetic.toNarrowVectors(get(difference->getOperand(0)));
    Pieces less = arithmetic.toNarrowVectors(get(difference->getOperand(1)));
    bool shiftsLess = !dependence.onRow(difference->getOperand(1));
    for (auto [y, z] : llvm::zip_equal(from, less)) {
      if (shiftsLess)
        z = b.create<arith::SubIOp>(z, shift);
      else
        y = b.create<arith::AddIOp>(y, shift);
      pieces.push_back(b.create<arith::SubIOp>(y, z));
    }
  } else {
    for (Value piece : arithmetic.toNarrowVectors(number))
      pieces.push_back(b.create<arith::AddIOp>(piece, shift));
  }
  for (Value &piece : pieces)
    piece = b.create<arith::CmpIOp>(CmpIPredicate::ule, piece,
                                    b.integer(vector, 2 * most));
  return LaneValue::varying(b.getI1Type(), std::move(pieces));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename Op>
static Pieces convert(LaneBuilder &b, Pieces pieces, Type type) {
  for (Value &piece : pieces)
    piece = b.create<Op>(b.getPieceType(type), piece);
  return pieces;
}

FailureOr<LaneValue> RegionVectorizer::evaluateCast(Operation *op) {
  Type type = op->getResult(0).getType();
  LaneValue value = get(op->getOperand(0));
  bool fromPosition = isPositionType(value.type);
  bool toPosition = isPositionType(type);
  Type i32 = b.getI32Type();
  bool isUnsigned =
      isa<arith::IndexCastUIOp, arith::ExtUIOp, index::CastUOp>(op);
  if (isUnsigned ||
      isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, index::CastSOp>(
          op)) {
    if (fromPosition && toPosition) {
      value.type = type;
      return value;
    }
    if (fromPosition) { // Keeps the low bits.
      bool affine = !value.isVarying();
      if (affine) // Modulo 2^32, whatever the bounds.
        value.bound = Bound::ofConstant(0);
      Pieces pieces = affine || arithmetic.isNarrow(value)
                          ? arithmetic.toNarrowVectors(value)
                          : arithmetic.toVectors(value);
      if (pieces.front().getType() != b.getPieceType(type))
        pieces = convert<arith::TruncIOp>(b, pieces, type);
      return LaneValue::varying(type, std::move(pieces));
    }
    if (!toPosition)
      return failure();
    unsigned width = value.type.getIntOrFloatBitWidth();
    uint64_t limit = uint64_t(1) << (isUnsigned ? width : width - 1);
    Bound bound = {limit, limit, isUnsigned};
    Pieces pieces = arithmetic.toVectors(value);
    if (width == 32 && isUnsigned)
      return LaneValue::varying(
          type, convert<arith::ExtUIOp>(b, pieces, b.getI64Type()), bound);
    if (width < 32)
      pieces = isUnsigned ? convert<arith::ExtUIOp>(b, pieces, i32)
                          : convert<arith::ExtSIOp>(b, pieces, i32);
    return LaneValue::varying(type, std::move(pieces), bound);
  }
  bool isSigned = isa<arith::SIToFPOp>(op);
  if (isSigned || isa<arith::UIToFPOp>(op)) {
    if (!fromPosition || !arithmetic.isNarrow(value) ||
        !(isSigned || value.bound.nonNegative))
      return failure();
    Pieces pieces = arithmetic.toNarrowVectors(value);
    return LaneValue::varying(type, convert<arith::SIToFPOp>(b, pieces, type));
  }
  // f16 and bf16 that were widened when they were loaded.
  if (isa<arith::ExtFOp>(op) && value.isVarying() && type.isF32() &&
      value.pieces.front().getType() == b.getPieceType(type))
    return LaneValue::varying(type, value.pieces);
  return failure();
}

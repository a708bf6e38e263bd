//===- LaneValue.cpp - Values of a region in all lanes at once ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/AttnToVector/LaneValue.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;
using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Whether magnitudes up to `bound` fit, with a sign.
static bool fits(uint64_t bound, unsigned bits) {
  return bound < uint64_t(1) << (bits - 1);
}

Bound Bound::ofConstant(int64_t value) {
  uint64_t magnitude = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  return {magnitude, magnitude, value >= 0};
}

Bound Bound::operator+(const Bound &other) const {
  return {llvm::SaturatingAdd(always, other.always),
          llvm::SaturatingAdd(guarded, other.guarded),
          nonNegative && other.nonNegative};
}

Bound Bound::operator*(const Bound &other) const {
  return {llvm::SaturatingMultiply(always, other.always),
          llvm::SaturatingMultiply(guarded, other.guarded),
          nonNegative && other.nonNegative};
}

Bound Bound::unlessWrapping() const {
  Bound result = *this;
  if (!fits(always, 64)) {
    result.always = kUnknown;
    result.nonNegative = false;
  }
  if (!fits(guarded, 64))
    result.guarded = kUnknown;
  return result;
}

Bound Bound::join(const Bound &other) const {
  return {std::max(always, other.always), std::max(guarded, other.guarded),
          nonNegative && other.nonNegative};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LaneValue LaneValue::uniform(Value scalar, Bound bound) {
  LaneValue value;
  value.type = scalar.getType();
  value.scalar = scalar;
  value.bound = bound;
  return value;
}

LaneValue LaneValue::affine(Value base, int64_t stride, Bound bound) {
  LaneValue value = uniform(base, bound);
  value.stride = stride;
  return value;
}

LaneValue LaneValue::varying(Type type, Pieces pieces, Bound bound) {
  LaneValue value;
  value.type = type;
  value.pieces = std::move(pieces);
  value.bound = bound;
  return value;
}

bool attn::isPositionType(Type type) {
  return type.isIndex() || type.isInteger(64);
}

static Type elementOf(const LaneValue &value) {
  return cast<VectorType>(value.pieces.front().getType()).getElementType();
}

/// Whether a scalar was an i32, whose least number no bound of magnitudes tells
/// from one that does not fit.
static bool wasWord(Value scalar) {
  Operation *op = scalar.getDefiningOp();
  return isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op) &&
         op->getOperand(0).getType().isInteger(32);
}

bool LaneArithmetic::isNarrow(const LaneValue &value) const {
  if (!isPositionType(value.type))
    return false;
  if (value.isVarying())
    return elementOf(value).isInteger(32);
  return fits(value.bound.guarded, 32) ||
         (value.isUniform() && wasWord(value.scalar));
}

/// Casts an integer scalar, keeping its low bits.
static Value castScalar(LaneBuilder &b, Value scalar, Type type) {
  if (scalar.getType() == type)
    return scalar;
  if (scalar.getType().isIndex())
    return b.createOrFold<arith::IndexCastOp>(type, scalar);
  return b.createOrFold<arith::TruncIOp>(type, scalar);
}

/// The scalar, and the affine part if there is one, modulo the element type's
/// width.
Pieces LaneArithmetic::broadcast(Value scalar, const LaneValue &value,
                                 Type elementType) {
  VectorType type = b.getPieceType(elementType);
  Value base = b.create<vector::BroadcastOp>(type, scalar);
  if (!value.isAffine())
    return Pieces(b.getNumPieces(), base);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    pieces.push_back(b.create<arith::AddIOp>(
        base, b.laneNumbers(piece, value.stride, elementType)));
  return pieces;
}

Pieces LaneArithmetic::toVectors(const LaneValue &value) {
  Type type = value.type;
  Type elementType = type.isIndex() ? Type(b.getI64Type()) : type;
  if (!value.isVarying()) {
    Value scalar = isPositionType(type)
                       ? castScalar(b, value.scalar, elementType)
                       : value.scalar;
    return broadcast(scalar, value, elementType);
  }
  if (elementOf(value) == elementType)
    return value.pieces;
  Pieces pieces;
  VectorType vector = b.getPieceType(elementType);
  for (Value piece : value.pieces) {
    if (isa<FloatType>(elementType))
      pieces.push_back(b.create<arith::TruncFOp>(vector, piece));
    else
      pieces.push_back(b.create<arith::ExtSIOp>(vector, piece));
  }
  return pieces;
}

Pieces LaneArithmetic::toNarrowVectors(const LaneValue &value) {
  if (value.isVarying())
    return value.pieces;
  guardNeeded |= !fits(value.bound.always, 32) && !wasWord(value.scalar);
  Type i32 = b.getI32Type();
  return broadcast(castScalar(b, value.scalar, i32), value, i32);
}

//===----------------------------------------------------------------------===//
// Affine arithmetic
//===----------------------------------------------------------------------===//

LaneValue LaneArithmetic::addAffine(const LaneValue &lhs, const LaneValue &rhs,
                                    int64_t sign) {
  Value base = sign > 0 ? b.addI(lhs.scalar, rhs.scalar)
                        : b.subI(lhs.scalar, rhs.scalar);
  Bound bound = lhs.bound + rhs.bound;
  bound.nonNegative &= sign > 0;
  return LaneValue::affine(base, lhs.stride + sign * rhs.stride, bound);
}

LaneValue LaneArithmetic::multiplyAffine(const LaneValue &value,
                                         int64_t factor) {
  Value base = b.mulI(value.scalar, b.integer(value.type, factor));
  return LaneValue::affine(base, value.stride * factor,
                           value.bound * Bound::ofConstant(factor));
}

static CmpIPredicate swapOperands(CmpIPredicate predicate) {
  switch (predicate) {
  case CmpIPredicate::slt:
    return CmpIPredicate::sgt;
  case CmpIPredicate::sle:
    return CmpIPredicate::sge;
  case CmpIPredicate::sgt:
    return CmpIPredicate::slt;
  case CmpIPredicate::sge:
    return CmpIPredicate::sle;
  default:
    return predicate;
  }
}

/// The signed predicate that an unsigned one is on numbers of equal sign, or
/// the predicate itself.
static CmpIPredicate toSigned(CmpIPredicate predicate) {
  switch (predicate) {
  case CmpIPredicate::ult:
    return CmpIPredicate::slt;
  case CmpIPredicate::ule:
    return CmpIPredicate::sle;
  case CmpIPredicate::ugt:
    return CmpIPredicate::sgt;
  case CmpIPredicate::uge:
    return CmpIPredicate::sge;
  default:
    return predicate;
  }
}

/// `number` in [-limit, limit], where its sign and what lies further out do not
/// change.
static Value clamp(LaneBuilder &b, Value number, int64_t limit) {
  Type type = number.getType();
  Value raised = b.maxSI(number, b.integer(type, -limit));
  return b.minSI(raised, b.integer(type, limit));
}

FailureOr<LaneValue> LaneArithmetic::compareSigned(CmpIPredicate predicate,
                                                   LaneValue lhs,
                                                   LaneValue rhs) {
  Type boolean = b.getI1Type();
  int64_t stride = lhs.stride - rhs.stride;
  if (lhs.isUniform() && rhs.isUniform())
    return LaneValue::uniform(b.compareI(predicate, lhs.scalar, rhs.scalar));
  // What is unknown and the same in all lanes needs to be known only as far as
  // the other side can reach.
  auto limit = [&](LaneValue &unknown, const LaneValue &other) {
    if (fits(unknown.bound.always, 64) || !unknown.isUniform() ||
        !fits(other.bound.always, 63))
      return;
    int64_t reach = int64_t(other.bound.always) + 1;
    unknown.scalar = clamp(b, unknown.scalar, reach);
    unknown.bound.always = uint64_t(reach);
  };
  limit(lhs, rhs);
  limit(rhs, lhs);
  if (!fits((lhs.bound + rhs.bound).always, 64))
    return failure();
  if (stride == 0)
    return LaneValue::uniform(b.compareI(predicate, lhs.scalar, rhs.scalar));
  int64_t reach = std::abs(stride) * b.getNumLanes() + 1;
  if (!fits(uint64_t(reach), 32))
    return failure();

  // lhs + stride * lane <> rhs is the same as stride * lane <> rhs - lhs.
  Value difference = b.subI(rhs.scalar, lhs.scalar);
  difference = castScalar(b, clamp(b, difference, reach), b.getI32Type());
  Value threshold =
      b.create<vector::BroadcastOp>(b.getPieceType(b.getI32Type()), difference);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    pieces.push_back(b.create<arith::CmpIOp>(
        predicate, b.laneNumbers(piece, stride, b.getI32Type()), threshold));
  return LaneValue::varying(boolean, std::move(pieces));
}

FailureOr<LaneValue> LaneArithmetic::compareAffine(CmpIPredicate predicate,
                                                   const LaneValue &lhs,
                                                   const LaneValue &rhs) {
  CmpIPredicate asSigned = toSigned(predicate);
  if (asSigned == predicate || (lhs.bound.nonNegative && rhs.bound.nonNegative))
    return compareSigned(asSigned, lhs, rhs);
  if (lhs.isUniform() && rhs.isUniform())
    return compareSigned(predicate, lhs, rhs);
  // The other one, where it is negative, is the larger one.
  if (!lhs.bound.nonNegative && !rhs.bound.nonNegative)
    return failure();
  const LaneValue &other = lhs.bound.nonNegative ? rhs : lhs;
  CmpIPredicate ofOther =
      lhs.bound.nonNegative ? swapOperands(asSigned) : asSigned;
  bool otherIsLarger =
      ofOther == CmpIPredicate::sgt || ofOther == CmpIPredicate::sge;
  Value zero = b.integer(other.type, 0);
  LaneValue origin = LaneValue::uniform(zero, Bound::ofConstant(0));
  FailureOr<LaneValue> compared = compareSigned(asSigned, lhs, rhs);
  FailureOr<LaneValue> sign = compareSigned(
      otherIsLarger ? CmpIPredicate::slt : CmpIPredicate::sge, other, origin);
  if (failed(compared) || failed(sign))
    return failure();
  Pieces first = toVectors(*compared), second = toVectors(*sign), pieces;
  for (auto [x, y] : llvm::zip(first, second))
    pieces.push_back(otherIsLarger ? b.create<arith::OrIOp>(x, y).getResult()
                                   : b.create<arith::AndIOp>(x, y).getResult());
  return LaneValue::varying(b.getI1Type(), std::move(pieces));
}

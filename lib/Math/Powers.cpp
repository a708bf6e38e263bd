//===- Powers.cpp - Powers, roots and remainders of f32 -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An error of a logarithm is multiplied by what the power's exponent makes of
// it, so logarithms are computed in f64, which all GPUs add and multiply.
//
//===----------------------------------------------------------------------===//

#include "lib/Math/MathBuilder.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

static Value toF64(MathBuilder &b, Value x) {
  return arith::ExtFOp::create(b, b.withElement(x, b.getF64Type()), x);
}

static Value getBits(MathBuilder &b, Value x) {
  Type i64 = b.withElement(x, b.getI64Type());
  return arith::BitcastOp::create(b, i64, x);
}

/// 2^(exponent - 1023) for the bits of an f64's exponent.
static Value fromExponent(MathBuilder &b, Value exponent) {
  Value bits =
      arith::ShLIOp::create(b, exponent, b.integer(exponent.getType(), 52));
  return arith::BitcastOp::create(b, b.withElement(bits, b.getF64Type()), bits);
}

/// Of a positive finite f64 that was an f32, an i64: the exponent's bits.
static Value getExponent(MathBuilder &b, Value x) {
  Value bits = getBits(b, x);
  return arith::ShRUIOp::create(b, bits, b.integer(bits.getType(), 52));
}

/// log2 of positive finite numbers, with an error of about 2^-43: with m in
/// [sqrt(1/2), sqrt(2)] and s = (m - 1) / (m + 1), log(m) is 2 atanh(s).
static Value emitLog2(MathBuilder &b, Value x) {
  Value wide = toF64(b, x), bits = getBits(b, wide);
  Type i64 = bits.getType();
  Value exponent = getExponent(b, wide);
  Value fraction = b.bitAnd(bits, b.integer(i64, (uint64_t(1) << 52) - 1));
  Value m = arith::BitcastOp::create(
      b, wide.getType(),
      b.bitOr(fraction, b.integer(i64, uint64_t(1023) << 52)));
  Value isLarge = b.isLess(std::numbers::sqrt2, m);
  m = b.select(isLarge, b.mul(m, 0.5), m);
  Value whole = b.add(
      arith::SIToFPOp::create(b, wide.getType(), exponent).getResult(), -1023);
  whole = b.select(isLarge, b.add(whole, 1.0), whole);
  Value s = b.div(b.add(m, -1.0), b.add(m, 1.0));
  SmallVector<double> coefficients;
  for (int odd = 15; odd > 0; odd -= 2)
    coefficients.push_back(2 * std::numbers::log2e / odd);
  return b.multiplyAdd(b.polynomial(b.mul(s, s), coefficients), s, whole);
}

/// 2^x of f64 as f32, for any number that is not NaN.
static Value emitExp2(MathBuilder &b, Value x) {
  auto pick = [&](Value condition, double bound, Value value) {
    return b.select(condition, b.real(x, bound), value);
  };
  x = pick(b.isLess(x, -200.0), -200, x);
  x = pick(b.isLess(200.0, x), 200, x);
  Value whole = b.floor(b.add(x, 0.5));
  Value rest = arith::TruncFOp::create(b, b.withElement(x, b.getF32Type()),
                                       b.sub(x, whole));
  Type i64 = b.withElement(x, b.getI64Type());
  Value exponent = arith::AddIOp::create(
      b, arith::FPToSIOp::create(b, i64, whole), b.integer(i64, 1023));
  Value product = b.mul(toF64(b, b.exp2(rest)), fromExponent(b, exponent));
  return arith::TruncFOp::create(b, rest.getType(), product);
}

/// |x|^y, where x is neither NaN, 0 nor infinite, and y is of f64.
static Value emitPower(MathBuilder &b, Value absolute, Value y) {
  return emitExp2(b, b.mul(emitLog2(b, absolute), y));
}

/// |x|^y, of any x of f32 and y of f64, but 1 for y = 0.
static Value emitPowerOfAbsolute(MathBuilder &b, Value x, Value y) {
  Value absolute = b.abs(x);
  Value isInfinite = b.isEqual(absolute, MathBuilder::kInfinity);
  Value isExtreme = b.bitOr(isInfinite, b.isEqual(absolute, 0.0));
  Value result = emitPower(b, absolute, y);
  Value zero = b.real(x, 0.0), infinity = b.real(x, MathBuilder::kInfinity);
  Value isPositive = b.isLess(0.0, y);
  Value ofExtreme = b.select(isInfinite, b.select(isPositive, infinity, zero),
                             b.select(isPositive, zero, infinity));
  result = b.select(isExtreme, ofExtreme, result);
  // Also with an infinite exponent.
  result = b.select(b.isEqual(absolute, 1.0), b.real(x, 1.0), result);
  Value isNaN = b.bitOr(b.compare(arith::CmpFPredicate::UNO, x, x),
                        b.compare(arith::CmpFPredicate::UNO, y, y));
  return b.select(isNaN, b.real(x, std::numeric_limits<double>::quiet_NaN()),
                  result);
}

/// As C's pow has it.
static Value expandPowF(MathBuilder &b, ValueRange operands) {
  Value x = operands[0], y = operands[1], half = b.mul(y, 0.5);
  Value isWhole = b.isEqual(b.floor(y), y);
  Value isOdd = b.bitAnd(
      isWhole, b.compare(arith::CmpFPredicate::ONE, b.floor(half), half));
  Value result = emitPowerOfAbsolute(b, x, toF64(b, y));
  result = b.select(isOdd, b.copySign(result, x), result);
  Value isRoot =
      b.bitAnd(b.bitAnd(b.isLess(x, 0.0), b.isLess(-MathBuilder::kInfinity, x)),
               b.compare(arith::CmpFPredicate::ONE, b.floor(y), y));
  result = b.select(isRoot, b.real(x, std::numeric_limits<double>::quiet_NaN()),
                    result);
  Value isOne = b.bitOr(b.isEqual(x, 1.0), b.isEqual(y, 0.0));
  return b.select(isOne, b.real(x, 1.0), result);
}

static Value expandCbrt(MathBuilder &b, ValueRange x) {
  Value absolute = b.abs(x[0]);
  Value third = b.real(toF64(b, absolute), 1.0 / 3);
  Value result = b.copySign(emitPower(b, absolute, third), x[0]);
  // 0, infinite or NaN.
  Value isPlain = b.bitAnd(b.isLess(0.0, absolute),
                           b.isLess(absolute, MathBuilder::kInfinity));
  return b.select(isPlain, result, x[0]);
}

/// Long division: each step takes 28 bits of the quotient, the product of which
/// and the divisor is exact in f64, as is the rest.
static Value expandRemF(MathBuilder &b, ValueRange operands) {
  Value x = toF64(b, b.abs(operands[0])), y = toF64(b, b.abs(operands[1]));
  Type i64 = b.withElement(x, b.getI64Type());
  constexpr int kBits = 28, kExponents = 127 + 149;
  Value rest = x;
  for (int step = 0; step <= kExponents / kBits; ++step) {
    Value difference =
        arith::SubIOp::create(b, getExponent(b, rest), getExponent(b, y));
    Value scale = arith::MaxSIOp::create(
        b, b.integer(i64, 1023),
        arith::AddIOp::create(b, difference, b.integer(i64, 1023 - kBits)));
    Value divisor = b.mul(y, fromExponent(b, scale));
    Value quotient = b.floor(b.div(rest, divisor));
    Value after = b.multiplyAdd(b.negate(quotient), divisor, rest);
    // A quotient that was rounded up to the next number.
    rest = b.select(b.isLess(after, 0.0), b.add(after, divisor), after);
  }
  Value result = arith::TruncFOp::create(b, operands[0].getType(), rest);
  result = b.select(b.isEqual(b.abs(operands[1]), MathBuilder::kInfinity),
                    operands[0], b.copySign(result, operands[0]));
  // What is no number, infinite, or divided by 0.
  Value isPlain = b.bitAnd(
      b.isLess(b.abs(operands[0]), MathBuilder::kInfinity),
      b.bitAnd(b.compare(arith::CmpFPredicate::ORD, operands[1], operands[1]),
               b.compare(arith::CmpFPredicate::ONE, operands[1],
                         b.real(operands[1], 0.0))));
  return b.select(
      isPlain, result,
      b.real(operands[0], std::numeric_limits<double>::quiet_NaN()));
}

namespace {
struct ExpandFPowI : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), exponent = op.getRhs();
    auto vector = dyn_cast<VectorType>(x.getType());
    if (!getElementTypeOrSelf(x).isF32() || (vector && vector.isScalable()))
      return rewriter.notifyMatchFailure(op, "there is no expansion");
    MathBuilder b(op.getLoc(), rewriter);
    Value y =
        arith::SIToFPOp::create(b, b.withElement(x, b.getF64Type()), exponent);
    Value result = emitPowerOfAbsolute(b, x, y);
    Type type = exponent.getType();
    Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                        b.bitAnd(exponent, b.integer(type, 1)),
                                        b.integer(type, 0));
    result = b.select(isOdd, b.copySign(result, x), result);
    rewriter.replaceOp(op, b.select(b.isEqual(y, 0.0), b.real(x, 1.0), result));
    return success();
  }
};
} // namespace

void attn::populatePowers(RewritePatternSet &patterns) {
  patterns.add<ExpandF32<math::PowFOp, expandPowF>,
               ExpandF32<math::CbrtOp, expandCbrt>,
               ExpandF32<arith::RemFOp, expandRemF>, ExpandFPowI>(
      patterns.getContext());
}

//===- Trigonometry.cpp - Sines and arcs of f32 ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Instructions for sines have an error of 2^-20 near 0 and of any size far from
// it, so polynomials of Cephes (S. L. Moshier, "sinf.c", "atanf.c") are used.
//
//===----------------------------------------------------------------------===//

#include "lib/Math/MathBuilder.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace mlir::attn;

using std::numbers::pi;

namespace {
/// An angle of f32 as quarters of a turn and the rest, of at most pi / 4.
struct Angle {
  Value quarters; ///< i32, of which the last two bits count.
  Value rest;     ///< f32
  Value error;    ///< f32, what is rounded off from the rest.
};
} // namespace

/// Of |x| = m 2^e, the angle in turns is the fraction of m (2^e / (2 pi)). Of
/// the factor, the 96 bits from where m makes no whole turns are enough for an
/// error of 2^-63 turns, where no f32 but 0 is nearer to a quarter than 2^-33
/// (M. Payne, R. Hanek, "Radian reduction for
/// trigonometric functions").
static Angle reduceAngle(MathBuilder &b, Value absolute) {
  Type i32 = b.withElement(absolute, b.getI32Type());
  Type i64 = b.withElement(absolute, b.getI64Type());
  auto constant = [&](uint64_t value) { return b.integer(i64, value); };
  auto shiftLeft = [&](Value x, Value by) -> Value {
    return arith::ShLIOp::create(b, x, by);
  };
  auto shiftRight = [&](Value x, Value by) -> Value {
    return arith::ShRUIOp::create(b, x, by);
  };
  Value bits = arith::ExtUIOp::create(
      b, i64, arith::BitcastOp::create(b, i32, absolute));
  Value exponent = shiftRight(bits, constant(23));
  Value m = b.bitOr(b.bitAnd(bits, constant(0x7fffff)), constant(0x800000));
  // Where the 64 bits begin in 0 and the bits of 1 / (2 pi). Of numbers below
  // pi / 4, which are their own rest, anywhere.
  Value begin = arith::MaxSIOp::create(
      b, arith::SubIOp::create(b, exponent, constant(150 - 64)), constant(40));
  uint64_t words[] = {0, 0x28be60db9391054a, 0x7f09d5f47d4d3770,
                      0x36d8a5664f10e410, 0x7f9458eaf7aef158};
  auto isBelow = [&](uint64_t bit) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, begin,
                                 constant(bit));
  };
  Value isFirst = isBelow(64), isSecond = isBelow(128);
  auto word = [&](int number) {
    return b.select(isFirst, constant(words[number]),
                    b.select(isSecond, constant(words[number + 1]),
                             constant(words[number + 2])));
  };
  Value shift = b.bitAnd(begin, constant(63));
  auto from = [&](int number) -> Value {
    Value low = shiftRight(shiftRight(word(number + 1), constant(1)),
                           arith::SubIOp::create(b, constant(63), shift));
    return b.bitOr(shiftLeft(word(number), shift), low);
  };
  Value carry =
      shiftRight(arith::MulIOp::create(b, m, shiftRight(from(1), constant(32))),
                 constant(32));
  Value turns = arith::AddIOp::create( // In units of 2^-64.
      b, arith::MulIOp::create(b, m, from(0)), carry);
  Value quarters =
      shiftRight(arith::AddIOp::create(b, turns, constant(uint64_t(1) << 61)),
                 constant(62));
  Value rest =
      arith::SubIOp::create(b, turns, shiftLeft(quarters, constant(62)));
  // 24 bits with the sign, and the other ones: each is one number.
  constexpr uint64_t kNumLow = 38;
  Value upper = arith::ShRSIOp::create(b, rest, constant(kNumLow));
  Value lower = b.bitAnd(rest, constant((uint64_t(1) << kNumLow) - 1));
  auto toReal = [&](Value integer) -> Value {
    return arith::SIToFPOp::create(b, absolute.getType(), integer);
  };
  Value ofUpper = toReal(arith::TruncIOp::create(b, i32, upper));
  Value ofLower = toReal(lower);
  constexpr double ofUnit = 2 * pi * 0x1p-64, scale = 0x1p38,
                   high = float(ofUnit * scale);
  Value product = b.mul(ofUpper, high);
  Value rounded = b.fma(ofUpper, b.real(absolute, high), b.negate(product));
  rounded =
      b.multiplyAdd(ofUpper, b.real(absolute, ofUnit * scale - high), rounded);
  rounded = b.multiplyAdd(ofLower, b.real(absolute, ofUnit), rounded);
  Value angle = b.add(product, rounded);
  Value error = b.sub(rounded, b.sub(angle, product));
  Value isSmall = b.isLess(absolute, pi / 4);
  return {b.select(isSmall, b.integer(i32, 0),
                   arith::TruncIOp::create(b, i32, quarters)),
          b.select(isSmall, absolute, angle),
          b.select(isSmall, b.real(absolute, 0.0), error)};
}

static Value hasBit(MathBuilder &b, Value integer, uint64_t bit) {
  Type type = integer.getType();
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                               b.bitAnd(integer, b.integer(type, bit)),
                               b.integer(type, 0));
}

namespace {
struct SineAndCosine {
  Value sine, cosine;
};
} // namespace

/// Of x + error, the rest of an angle. What is rounded off from 1 - x^2 / 2 is
/// added last.
static SineAndCosine emitPolynomials(MathBuilder &b, Value x, Value error) {
  Value z = b.mul(x, x), half = b.mul(z, 0.5);
  Value sine = b.polynomial(
      z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1, 0.0});
  Value main = b.sub(1.0, half);
  sine = b.multiplyAdd(error, main, b.mul(sine, x));
  Value ofSquare = b.mul(b.fma(x, x, b.negate(z)), -0.5);
  Value rest = b.add(b.sub(b.sub(1.0, main), half), ofSquare);
  rest = b.multiplyAdd(b.negate(error), x, rest);
  Value cosine = b.polynomial(
      z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  rest = b.multiplyAdd(b.mul(z, z), cosine, rest);
  return {b.add(x, sine), b.add(main, rest)};
}

static Value nanUnlessFinite(MathBuilder &b, Value absolute, Value result) {
  Value isFinite = b.isLess(absolute, std::numeric_limits<double>::infinity());
  return b.select(isFinite, result,
                  b.real(absolute, std::numeric_limits<double>::quiet_NaN()));
}

static SineAndCosine emitSineAndCosine(MathBuilder &b, Value x) {
  Value absolute = b.abs(x);
  auto [quarters, rest, error] = reduceAngle(b, absolute);
  auto [sine, cosine] = emitPolynomials(b, rest, error);
  Value isOdd = hasBit(b, quarters, 1);
  Value next =
      arith::AddIOp::create(b, quarters, b.integer(quarters.getType(), 1));
  auto withSign = [&](Value value, Value number) {
    return b.select(hasBit(b, number, 2), b.negate(value), value);
  };
  Value ofAbsolute = withSign(b.select(isOdd, cosine, sine), quarters);
  Value ofX = b.mul(ofAbsolute, b.copySign(b.real(x, 1.0), x));
  Value cosineOfX = withSign(b.select(isOdd, sine, cosine), next);
  return {nanUnlessFinite(b, absolute, ofX),
          nanUnlessFinite(b, absolute, cosineOfX)};
}

static Value expandSin(MathBuilder &b, ValueRange x) {
  return emitSineAndCosine(b, x[0]).sine;
}
static Value expandCos(MathBuilder &b, ValueRange x) {
  return emitSineAndCosine(b, x[0]).cosine;
}
static Value expandTan(MathBuilder &b, ValueRange x) {
  auto [sine, cosine] = emitSineAndCosine(b, x[0]);
  return b.div(sine, cosine);
}

/// The angle of the point (x, y), of at most pi, with the sign of y. Eighths of
/// a turn, and the arc of a tangent t of at most sqrt(2) - 1, which is added or
/// subtracted, are added once.
static Value emitArc(MathBuilder &b, Value y, Value x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto one = [&] { return b.real(x, 1.0); };
  auto zero = [&] { return b.real(x, 0.0); };
  Value absY = b.abs(y), absX = b.abs(x);
  Value isSteep = b.isLess(absX, absY);
  Value small = b.select(isSteep, absX, absY);
  Value large = b.select(isSteep, absY, absX);
  // Sums below must not overflow, nor quotients of the smallest numbers.
  Value scale = b.select(b.isLess(0x1p125, large), b.real(x, 0x1p-4), one());
  scale = b.select(b.isLess(large, 0x1p-60), b.real(x, 0x1p90), scale);
  // Of the origin the tangent is 0, and of two infinities 1.
  Value isOrigin = b.isEqual(large, 0.0);
  Value isInfinite = b.isEqual(small, infinity);
  small = b.select(isInfinite, one(), b.mul(small, scale));
  large = b.select(b.bitOr(isOrigin, isInfinite), one(), b.mul(large, scale));
  Value isFar = b.isLess(b.mul(large, std::numbers::sqrt2 - 1), small);
  Value numerator = b.select(isFar, b.sub(small, large), small);
  Value denominator = b.select(isFar, b.add(small, large), large);
  Value t = b.div(numerator, denominator);
  // What is rounded off from these, and from t; of infinity, nothing.
  Value ofNumerator =
      b.select(isFar, b.sub(small, b.add(numerator, large)), zero());
  Value ofDenominator =
      b.select(isFar, b.sub(small, b.sub(denominator, large)), zero());
  Value rest = b.add(b.fma(b.negate(t), denominator, numerator),
                     b.multiplyAdd(b.negate(t), ofDenominator, ofNumerator));
  Value isFinite = b.isLess(denominator, infinity);
  rest = b.select(isFinite, b.mul(rest, b.reciprocal(denominator)), zero());

  Value z = b.mul(t, t);
  Value series = b.polynomial(z, {8.05374449538e-2, -1.38776856032e-1,
                                  1.99777106478e-1, -3.33329491539e-1, 0.0});
  rest = b.multiplyAdd(series, t, rest);
  Value eighths = b.select(isFar, one(), zero());
  eighths = b.select(isSteep, b.sub(2.0, eighths), eighths);
  // Also of -0.
  Value isLeft = b.isLess(b.copySign(one(), x), 0.0);
  eighths = b.select(isLeft, b.sub(4.0, eighths), eighths);
  Value isSubtracted = arith::XOrIOp::create(b, isSteep, isLeft);
  auto withSign = [&](Value value) {
    return b.select(isSubtracted, b.negate(value), value);
  };
  constexpr double high = float(pi / 4);
  rest = b.multiplyAdd(eighths, b.real(x, pi / 4 - high), withSign(rest));
  Value main = b.mul(eighths, high);
  Value ofMain = b.fma(eighths, b.real(x, high), b.negate(main));
  t = withSign(t);
  Value sum = b.add(main, t);
  // Eighths are larger than t, or there are none.
  Value isNone = b.isEqual(eighths, 0.0);
  Value ofSum = b.select(isNone, zero(), b.sub(t, b.sub(sum, main)));
  Value arc = b.add(sum, b.add(ofSum, b.add(ofMain, rest)));
  Value isNaN = b.compare(arith::CmpFPredicate::UNO, x, y);
  return b.select(isNaN, b.add(x, y), b.copySign(arc, y));
}

static Value expandAtan2(MathBuilder &b, ValueRange operands) {
  return emitArc(b, operands[0], operands[1]);
}
static Value expandAtan(MathBuilder &b, ValueRange x) {
  return emitArc(b, x[0], b.real(x[0], 1.0));
}

/// sqrt(1 - x^2), without a loss of digits near 1.
static Value emitOtherLeg(MathBuilder &b, Value x) {
  return b.sqrt(b.mul(b.sub(1.0, x), b.add(x, 1.0)));
}
static Value expandAsin(MathBuilder &b, ValueRange x) {
  return emitArc(b, x[0], emitOtherLeg(b, x[0]));
}
static Value expandAcos(MathBuilder &b, ValueRange x) {
  return emitArc(b, emitOtherLeg(b, x[0]), x[0]);
}

namespace {
struct ExpandSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    auto vector = dyn_cast<VectorType>(x.getType());
    if (!getElementTypeOrSelf(x).isF32() || (vector && vector.isScalable()))
      return rewriter.notifyMatchFailure(op, "there is no expansion");
    MathBuilder b(op.getLoc(), rewriter);
    auto [sine, cosine] = emitSineAndCosine(b, x);
    rewriter.replaceOp(op, {sine, cosine});
    return success();
  }
};
} // namespace

void attn::populateTrigonometry(RewritePatternSet &patterns) {
  patterns.add<
      ExpandF32<math::SinOp, expandSin>, ExpandF32<math::CosOp, expandCos>,
      ExpandF32<math::TanOp, expandTan>, ExpandF32<math::AsinOp, expandAsin>,
      ExpandF32<math::AcosOp, expandAcos>, ExpandF32<math::AtanOp, expandAtan>,
      ExpandF32<math::Atan2Op, expandAtan2>, ExpandSincos>(
      patterns.getContext());
}

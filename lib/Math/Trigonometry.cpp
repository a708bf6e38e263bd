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
  Value angle =
      b.mul(arith::SIToFPOp::create(b, absolute.getType(), rest).getResult(),
            2 * pi * 0x1p-64);
  Value isSmall = b.isLess(absolute, pi / 4);
  return {b.select(isSmall, b.integer(i32, 0),
                   arith::TruncIOp::create(b, i32, quarters)),
          b.select(isSmall, absolute, angle)};
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

/// Of the rest of an angle.
static SineAndCosine emitPolynomials(MathBuilder &b, Value x) {
  Value z = b.mul(x, x);
  Value sine = b.polynomial(
      z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1, 0.0});
  Value cosine = b.polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3,
                                  4.166664568298827e-2, -0.5, 1.0});
  return {b.multiplyAdd(sine, x, x), cosine};
}

static Value nanUnlessFinite(MathBuilder &b, Value absolute, Value result) {
  Value isFinite = b.isLess(absolute, std::numeric_limits<double>::infinity());
  return b.select(isFinite, result,
                  b.real(absolute, std::numeric_limits<double>::quiet_NaN()));
}

static SineAndCosine emitSineAndCosine(MathBuilder &b, Value x) {
  Value absolute = b.abs(x);
  auto [quarters, rest] = reduceAngle(b, absolute);
  auto [sine, cosine] = emitPolynomials(b, rest);
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

/// The angle of the point (x, y), of at most pi, with the sign of y.
static Value emitArc(MathBuilder &b, Value y, Value x) {
  Value absY = b.abs(y), absX = b.abs(x);
  Value isSteep = b.isLess(absX, absY);
  Value small = b.select(isSteep, absX, absY);
  Value large = b.select(isSteep, absY, absX);
  // Of the origin 0, and of two infinities 1.
  Value ratio = b.select(
      b.isEqual(large, 0.0), b.real(x, 0.0),
      b.select(b.isEqual(small, std::numeric_limits<double>::infinity()),
               b.real(x, 1.0), b.div(small, large)));
  Value isFar = b.isLess(std::numbers::sqrt2 - 1, ratio);
  Value t =
      b.select(isFar, b.div(b.add(ratio, -1.0), b.add(ratio, 1.0)), ratio);
  Value z = b.mul(t, t);
  Value series = b.polynomial(z, {8.05374449538e-2, -1.38776856032e-1,
                                  1.99777106478e-1, -3.33329491539e-1, 0.0});
  Value arc = b.add(b.multiplyAdd(series, t, t),
                    b.select(isFar, b.real(x, pi / 4), b.real(x, 0.0)));
  arc = b.select(isSteep, b.sub(pi / 2, arc), arc);
  // Also of -0.
  Value isLeft = b.isLess(b.copySign(b.real(x, 1.0), x), 0.0);
  arc = b.copySign(b.select(isLeft, b.sub(pi, arc), arc), y);
  Value isNaN = b.compare(arith::CmpFPredicate::UNO, x, y);
  return b.select(isNaN, b.add(x, y), arc);
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

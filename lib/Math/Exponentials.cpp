//===- Exponentials.cpp - Functions by exponents and logarithms -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Math/MathBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// MathBuilder
//===----------------------------------------------------------------------===//

Value MathBuilder::real(Value like, double value) {
  Type type = like.getType();
  TypedAttr attr = getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

Value MathBuilder::integer(Type type, uint64_t value) {
  Type element = getElementTypeOrSelf(type);
  APInt bits(64, value);
  TypedAttr attr =
      getIntegerAttr(element, bits.trunc(element.getIntOrFloatBitWidth()));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

Type MathBuilder::withElement(Value like, Type element) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? Type(vector.clone(element)) : element;
}

Value MathBuilder::multiplyAdd(Value x, Value y, Value z) {
  if (isa<VectorType>(x.getType()))
    return vector::FMAOp::create(*this, x, y, z);
  return fma(x, y, z);
}

Value MathBuilder::reciprocal(Value x) {
  return arith::DivFOp::create(*this, real(x, 1.0), x,
                               arith::FastMathFlags::arcp);
}

Value MathBuilder::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = real(x, coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = multiplyAdd(sum, x, real(x, coefficient));
  return sum;
}

/// e^x = 2^(x log2(e)), times e to the power of what is rounded off from the
/// exponent, which would be an error of 2^-18. That is 1 and a little, whose
/// part is added.
Value MathBuilder::exp(Value x, double exponent) {
  Value power = mul(x, std::numbers::log2e);
  constexpr double high = float(std::numbers::log2e);
  Value rest = fma(x, real(x, high), negate(power));
  Value little =
      multiplyAdd(x, real(x, (std::numbers::log2e - high) * std::numbers::ln2),
                  mul(rest, std::numbers::ln2));
  Value result = exp2(exponent == 0 ? power : add(power, exponent));
  // Of what is infinite, or 0, the rest may be NaN.
  Value isPlain = bitAnd(isLess(abs(x), 128.0), isLess(result, kInfinity));
  return select(isPlain, multiplyAdd(result, little, result), result);
}

/// The instruction has an absolute error near 1, where logarithms are small,
/// and takes subnormal numbers for 0. With m in [sqrt(1/2), sqrt(2)], log(m) is
/// a polynomial of m - 1 (S. L. Moshier, Cephes, "logf.c").
Value MathBuilder::log(Value x, double unit) {
  Type i32 = withElement(x, getI32Type());
  constexpr double smallest = 0x1p-126;
  Value isSubnormal = isLess(x, smallest);
  Value normal = select(isSubnormal, mul(x, 0x1p24), x);
  // In units of the exponent, from sqrt(1/2) on.
  constexpr uint64_t kRootOfHalf = 0x3f3504f3;
  Value bits = arith::BitcastOp::create(*this, i32, normal);
  Value above = arith::SubIOp::create(*this, bits, integer(i32, kRootOfHalf));
  Value exponent = arith::SIToFPOp::create(
      *this, x.getType(),
      arith::ShRSIOp::create(*this, above, integer(i32, 23)));
  exponent = select(isSubnormal, add(exponent, -24.0), exponent);
  Value mantissa = arith::AddIOp::create(
      *this, bitAnd(above, integer(i32, 0x7fffff)), integer(i32, kRootOfHalf));
  Value f = add(arith::BitcastOp::create(*this, x.getType(), mantissa), -1.0);
  Value square = mul(f, f);
  Value rest =
      mul(mul(square, f),
          polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                         -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                         2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1}));
  Value ofMantissa = add(f, multiplyAdd(square, real(x, -0.5), rest));
  Value result = multiplyAdd(exponent, real(x, std::numbers::ln2 * unit),
                             mul(ofMantissa, unit));
  // Also of NaN; of less than 0, NaN.
  Value isPlain = bitAnd(isLess(0.0, x), isLess(x, kInfinity));
  Value special =
      select(isEqual(x, 0.0), real(x, -kInfinity),
             select(isLess(x, 0.0),
                    real(x, std::numeric_limits<double>::quiet_NaN()), x));
  return select(isPlain, result, special);
}

/// With u = 1 + x as rounded, and the rest of it that was rounded off,
/// log(u) + rest / u, or x where u is 1 or infinite.
Value MathBuilder::log1p(Value x) {
  Value u = add(x, 1.0);
  // u - 1 is exact where x is not large, and the rest elsewhere.
  Value isLarge = isLess(1.0, x);
  Value rest = select(isLarge, sub(1.0, sub(u, x)), sub(x, add(u, -1.0)));
  Value logarithm = log(u);
  // Of u = 0 too, there is no rest.
  Value result =
      select(isEqual(rest, 0.0), logarithm, add(logarithm, div(rest, u)));
  Value isPlain = bitOr(isEqual(u, 1.0), isEqual(u, kInfinity));
  return select(isPlain, x, result);
}

/// 1 - 2 t / (1 + t) with the sign of x; a polynomial where the difference
/// loses digits.
Value MathBuilder::tanh(Value x, Value t, Value inverse) {
  Value square = mul(x, x);
  Value far = multiplyAdd(mul(t, -2.0), inverse, real(x, 1.0));
  // Of the least maximum of the relative error, 7e-9.
  Value series =
      mul(polynomial(square, {-5.515163721e-3, 2.046941972e-2, -5.368802305e-2,
                              1.333083034e-1, -3.333325985e-1}),
          square);
  // Of all, so that -0 stays it.
  return copySign(select(isLess(abs(x), 0.65), multiplyAdd(series, x, x), far),
                  x);
}

//===----------------------------------------------------------------------===//
// Expansions
//===----------------------------------------------------------------------===//

static Value expandLog(MathBuilder &b, ValueRange x) { return b.log(x[0]); }
static Value expandLog1p(MathBuilder &b, ValueRange x) { return b.log1p(x[0]); }

static Value expandLog2(MathBuilder &b, ValueRange x) {
  return b.log(x[0], std::numbers::log2e);
}
static Value expandLog10(MathBuilder &b, ValueRange x) {
  return b.log(x[0], std::numbers::log10e);
}

/// There is an instruction, but with an error of 2^-11. The reciprocal's is
/// 2^-23, where a division takes ten instructions.
static Value expandTanh(MathBuilder &b, ValueRange x) {
  Value t = b.exp2(b.mul(b.abs(x[0]), -2 * std::numbers::log2e));
  return b.tanh(x[0], t, b.reciprocal(b.add(t, 1.0)));
}

/// With n the integer nearest to x log2(e) and r the rest, of at most log(2) /
/// 2 as an exponent, 2 (2^(n - 1) (e^r - 1) + 2^(n - 1) - 1 / 2), in which only
/// the result overflows.
static Value expandExpM1(MathBuilder &b, ValueRange operands) {
  Value x = operands[0];
  Type i32 = b.withElement(x, b.getI32Type());
  // Beyond, the result is -1 or infinite.
  Value clamped = arith::MinNumFOp::create(
      b, arith::MaxNumFOp::create(b, x, b.real(x, -25.0)), b.real(x, 89.0));
  Value n = math::RoundEvenOp::create(b, b.mul(clamped, std::numbers::log2e));
  constexpr double high = float(std::numbers::ln2);
  Value minusN = b.negate(n);
  Value r = b.fma(minusN, b.real(x, high), clamped);
  r = b.multiplyAdd(minusN, b.real(x, std::numbers::ln2 - high), r);
  // Of the least maximum of the relative error, 3e-10.
  Value series = b.polynomial(r, {1.98458853e-4, 1.394072004e-3, 8.333389572e-3,
                                  4.166635982e-2, 1.666666637e-1, 5.0e-1});
  Value ofRest = b.multiplyAdd(b.mul(r, r), series, r);
  Value biased = arith::AddIOp::create(b, arith::FPToSIOp::create(b, i32, n),
                                       b.integer(i32, 126));
  Value half = arith::BitcastOp::create(
      b, x.getType(), arith::ShLIOp::create(b, biased, b.integer(i32, 23)));
  Value result = b.mul(b.multiplyAdd(half, ofRest, b.add(half, -0.5)), 2.0);
  // NaN, and 0 with its sign.
  Value isItself =
      b.bitOr(b.isEqual(x, 0.0), b.compare(arith::CmpFPredicate::UNO, x, x));
  return b.select(isItself, x, result);
}

/// x + x P(x^2) near 0, elsewhere 1 - e^P(|x|), which is 1 from 4 on.
static Value expandErf(MathBuilder &b, ValueRange operands) {
  Value x = operands[0];
  Value absolute = b.abs(x), square = b.mul(x, x);
  // Of the least maximum of the relative error: 5e-10, and 6e-11.
  Value near = b.polynomial(
      square, {8.31677532e-5, -8.130012717e-4, 5.199906676e-3, -2.685894151e-2,
               1.128368719e-1, -3.761263319e-1, 1.283791666e-1});
  Value t = b.select(b.isLess(4.0, absolute), b.real(x, 4.0), absolute);
  Value exponent = b.polynomial(
      t, {-2.082852284e-5, 4.313925285e-4, -4.156250208e-3, 2.50806049e-2,
          -1.082203673e-1, -6.33400865e-1, -1.1294884, 1.692038572e-4});
  Value far = b.sub(1.0, b.exp2(b.mul(exponent, std::numbers::log2e)));
  return b.select(b.isLess(absolute, 0.92), b.multiplyAdd(near, x, x),
                  b.copySign(far, x));
}

/// Halves of e^|x| and e^-|x|, where neither overflows before the result.
static std::pair<Value, Value> emitHalves(MathBuilder &b, Value absolute) {
  Value larger = b.exp(absolute, /*exponent=*/-1);
  return {larger, b.div(0.25, larger)};
}

static Value expandCosh(MathBuilder &b, ValueRange x) {
  auto [larger, smaller] = emitHalves(b, b.abs(x[0]));
  return b.add(larger, smaller);
}

/// By Taylor's series below 1, where the difference loses digits.
static Value expandSinh(MathBuilder &b, ValueRange x) {
  Value absolute = b.abs(x[0]), square = b.mul(x[0], x[0]);
  auto [larger, smaller] = emitHalves(b, absolute);
  Value series =
      b.polynomial(square, {1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6, 1.0});
  Value result = b.select(b.isLess(absolute, 1.0), b.mul(series, absolute),
                          b.sub(larger, smaller));
  return b.copySign(result, x[0]);
}

/// log(2x), of what is so large that 1 is lost in it.
static Value emitLogOfTwice(MathBuilder &b, Value x) {
  return b.add(b.log(x), std::numbers::ln2);
}
static constexpr double kLarge = 0x1p13;

/// log(a + sqrt(a^2 + 1)) with the sign of x, a = |x|.
static Value expandAsinh(MathBuilder &b, ValueRange x) {
  Value a = b.abs(x[0]), square = b.mul(a, a);
  Value root = b.sqrt(b.add(square, 1.0));
  Value small = b.log1p(b.add(a, b.div(square, b.add(root, 1.0))));
  Value result = b.select(b.isLess(a, kLarge), small, emitLogOfTwice(b, a));
  return b.copySign(result, x[0]);
}

/// log(x + sqrt(x^2 - 1)); NaN below 1, by the root of -1.
static Value expandAcosh(MathBuilder &b, ValueRange x) {
  Value above = b.add(x[0], -1.0);
  Value root = b.sqrt(b.mul(above, b.add(x[0], 1.0)));
  Value result = b.select(b.isLess(x[0], kLarge), b.log1p(b.add(above, root)),
                          emitLogOfTwice(b, x[0]));
  Value nan = b.real(x[0], std::numeric_limits<double>::quiet_NaN());
  return b.select(b.isLess(x[0], 1.0), nan, result);
}

/// log((1 + a) / (1 - a)) / 2 with the sign of x, a = |x|.
static Value expandAtanh(MathBuilder &b, ValueRange x) {
  Value a = b.abs(x[0]);
  Value ratio = b.div(b.mul(a, 2.0), b.sub(1.0, a));
  return b.copySign(b.mul(b.log1p(ratio), 0.5), x[0]);
}

//===----------------------------------------------------------------------===//
// Of every type
//===----------------------------------------------------------------------===//

namespace {
/// Of the smallest number, itself.
struct ExpandAbsI : OpRewritePattern<math::AbsIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::AbsIOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    Value zero = arith::ConstantOp::create(rewriter, op.getLoc(),
                                           rewriter.getZeroAttr(x.getType()));
    Value negative = arith::SubIOp::create(rewriter, op.getLoc(), zero, x);
    rewriter.replaceOpWithNewOp<arith::MaxSIOp>(op, x, negative);
    return success();
  }
};

struct ExpandIsNaN : OpRewritePattern<math::IsNaNOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IsNaNOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::CmpFOp>(
        op, arith::CmpFPredicate::UNO, op.getOperand(), op.getOperand());
    return success();
  }
};

/// x - x is 0.
struct ExpandIsFinite : OpRewritePattern<math::IsFiniteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IsFiniteOp op,
                                PatternRewriter &rewriter) const override {
    MathBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    rewriter.replaceOp(op, b.isEqual(b.sub(x, x), 0.0));
    return success();
  }
};

/// Halves away from 0, by the truncated number and what it leaves, both exact.
struct ExpandRound : OpRewritePattern<math::RoundOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::RoundOp op,
                                PatternRewriter &rewriter) const override {
    MathBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand(), absolute = b.abs(x);
    Value whole = b.floor(absolute);
    Value isBelowHalf = b.isLess(b.sub(absolute, whole), 0.5);
    Value rounded = b.select(isBelowHalf, whole, b.add(whole, 1.0));
    // inf - inf is NaN.
    Value result = b.select(b.isEqual(absolute, MathBuilder::kInfinity),
                            absolute, rounded);
    rewriter.replaceOp(op, b.copySign(result, x));
    return success();
  }
};
} // namespace

void attn::populateExpM1(RewritePatternSet &patterns, PatternBenefit benefit) {
  patterns.add<ExpandF32<math::ExpM1Op, expandExpM1>>(patterns.getContext(),
                                                      benefit);
}

void attn::populateExponentials(RewritePatternSet &patterns) {
  populateExpM1(patterns);
  patterns.add<
      ExpandF32<math::LogOp, expandLog>, ExpandF32<math::Log1pOp, expandLog1p>,
      ExpandF32<math::Log2Op, expandLog2>,
      ExpandF32<math::Log10Op, expandLog10>,
      ExpandF32<math::TanhOp, expandTanh>, ExpandF32<math::ErfOp, expandErf>,
      ExpandF32<math::SinhOp, expandSinh>, ExpandF32<math::CoshOp, expandCosh>,
      ExpandF32<math::AsinhOp, expandAsinh>,
      ExpandF32<math::AcoshOp, expandAcosh>,
      ExpandF32<math::AtanhOp, expandAtanh>, ExpandAbsI, ExpandIsNaN,
      ExpandIsFinite, ExpandRound>(patterns.getContext());
}

//===- Exp2.cpp - Exponentials of vectors ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// 2^x = 2^n * 2^f, 2^f by a polynomial whose relative error was made as small
// as it can be (Remez). With AVX-512, n = floor(x): vreduce gives x - n, with 0
// for an infinite x, and vscalef multiplies by 2^floor(x), so that n itself is
// never computed. Elsewhere n is the nearest integer, which falls out of an
// addition of 1.5 * 2^23, together with the bits of 2^n.
//
// Of f64, e^x is 2^n * e^(x - n * ln(2)), the latter by its series.
//

#include "lib/CPU/AttnToVector/Exp2.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// On [0, 1], exact at both ends; relative error 9.3e-8, in f32 1.6e-7.
constexpr double kOfFraction[] = {1.0,
                                  6.931517124e-01,
                                  2.401592731e-01,
                                  5.581867695e-02,
                                  8.990994655e-03,
                                  1.879318617e-03};

/// On [-0.5, 0.5], exact at 0; relative error 7.5e-8, in f32 2e-7.
constexpr double kOfRemainder[] = {1.0,
                                   6.931469671e-01,
                                   2.402211972e-01,
                                   5.550713273e-02,
                                   9.675541331e-03,
                                   1.327647217e-03};

/// On [0, 1], exact at both ends; relative error 1.03e-4.
constexpr double kOfRoundedFraction[] = {1.0, 6.954243475e-01, 2.263076823e-01,
                                         7.826797016e-02};

/// On [-0.5, 0.5], exact at 0; relative error 1.02e-4.
constexpr double kOfRoundedRemainder[] = {1.0, 6.932829274e-01, 2.422109622e-01,
                                          5.500893142e-02};

/// On [-0.5, 0.5], exact at 0; relative error 3e-9, in f32 1.1e-7.
constexpr double kOfRemainderClosely[] = {1.0,
                                          6.931472029e-01,
                                          2.402264791e-01,
                                          5.55033247e-02,
                                          9.618437366e-03,
                                          1.339887487e-03,
                                          1.535336061e-04};

/// tanh(x) / x by powers of x^2, for |x| up to a limit.
struct TanhNearZero {
  double limit;
  ArrayRef<double> coefficients;
};
constexpr double kOfTanh[] = {9.999999710e-01, -3.333295888e-01,
                              1.332540602e-01, -5.334443005e-02,
                              1.958290801e-02, -4.716257128e-03};
constexpr double kOfSmallTanh[] = {9.999999811e-01, -3.333181708e-01,
                                   1.315306566e-01};
/// From the widest to the cheapest; relative errors 3e-8 and 2e-8.
const TanhNearZero kTanhNearZero[] = {{0.75, kOfTanh}, {0.15, kOfSmallTanh}};

constexpr double kLog2E = std::numbers::log2e;

Value polynomial(LaneBuilder &b, Value x, ArrayRef<double> coefficients) {
  return b.polynomial(x, llvm::to_vector(llvm::reverse(coefficients)));
}

//===----------------------------------------------------------------------===//
// AVX-512
//===----------------------------------------------------------------------===//

bool hasScalef(LaneBuilder &b) {
  return b.getTarget().getScalef() && b.getTarget().getVectorBits() == 512 &&
         b.getWidth() == 16;
}

Value intrinsic(LaneBuilder &b, StringRef name, ValueRange arguments) {
  return b
      .create<LLVM::CallIntrinsicOp>(arguments.front().getType(),
                                     b.getStringAttr(name), arguments)
      .getResult(0);
}

/// x less an integer, as `mode` rounds; 0 if x is infinite.
Value reduce(LaneBuilder &b, Value x, int64_t mode) {
  return intrinsic(b, "llvm.x86.avx512.mask.reduce.ps.512",
                   {x, b.integer(b.getIntegerType(32), mode), x,
                    b.integer(b.getIntegerType(16), -1),
                    b.integer(b.getIntegerType(32), 4)});
}

/// x - floor(x)
Value fraction(LaneBuilder &b, Value x) {
  constexpr int64_t kFloorQuietly = 9;
  return reduce(b, x, kFloorQuietly);
}

/// In [-0.5, 0.5].
Value distanceToInteger(LaneBuilder &b, Value x) {
  constexpr int64_t kNearestQuietly = 8;
  return reduce(b, x, kNearestQuietly);
}

/// x * 2^floor(y).
Value scale(LaneBuilder &b, Value x, Value y) {
  return intrinsic(b, "llvm.x86.avx512.mask.scalef.ps.512",
                   {x, y, x, b.integer(b.getIntegerType(16), -1),
                    b.integer(b.getIntegerType(32), 4)});
}

Value estimateReciprocal(LaneBuilder &b, Value x) {
  return intrinsic(b, "llvm.x86.avx512.rcp14.ps.512",
                   {x, x, b.integer(b.getIntegerType(16), -1)});
}

/// 1 - x * estimate, for a step of Newton's method, from 14 bits to 28.
Value errorOfReciprocal(LaneBuilder &b, Value x, Value estimate) {
  return b.fma(b.negate(x), estimate, b.real(x, 1.0));
}

/// 1 / x for x in [1, 2^64].
Value reciprocal(LaneBuilder &b, Value x) {
  if (!hasScalef(b))
    return b.div(1.0, x);
  Value estimate = estimateReciprocal(b, x);
  return b.fma(errorOfReciprocal(b, x, estimate), estimate, estimate);
}

//===----------------------------------------------------------------------===//
// Elsewhere
//===----------------------------------------------------------------------===//

struct Rounded {
  Value nearest; ///< The integer n nearest to a number, as f32.
  Value bits; ///< n as i32, plus an exponent's bias, at the exponent's place.
};

/// In 1.5 * 2^23 + bias + x the last bits of the fraction are n + bias.
Rounded roundToInteger(LaneBuilder &b, Value x, int64_t bias) {
  Value magic = b.real(x, 12582912.0 + double(bias));
  Value shifted = b.add(x, magic);
  Type integers = b.getPieceType(b.getI32Type());
  Value bits = b.create<arith::BitcastOp>(integers, shifted);
  return {b.sub(shifted, magic),
          b.create<arith::ShLIOp>(bits, b.integer(integers, 23)).getResult()};
}

/// 2^power, which is 2^n * 2^remainder. Less than the least normal number is 0,
/// and of NaN it is NaN.
Value raise(LaneBuilder &b, Value power, Value remainder, const Rounded &n,
            ArrayRef<double> coefficients) {
  Value factor = polynomial(b, remainder, coefficients);
  Type integers = n.bits.getType();
  Value bits = b.create<arith::AddIOp>(
      b.create<arith::BitcastOp>(integers, factor), n.bits);
  Value result = b.create<arith::BitcastOp>(power.getType(), bits);
  auto isFrom = [&](double least) {
    return b.compare(arith::CmpFPredicate::OGE, power, b.real(power, least));
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  result = b.select(isFrom(128.0), b.real(power, infinity), result);
  return b.select(isFrom(-126.0), result, b.maximum(b.real(power, 0.0), power));
}

/// 2^x with a relative error of 2e-7.
Value buildQuickExp2(LaneBuilder &b, Value x) {
  if (hasScalef(b))
    return scale(b, polynomial(b, fraction(b, x), kOfFraction), x);
  Rounded rounded = roundToInteger(b, x, 0);
  return raise(b, x, b.sub(x, rounded.nearest), rounded, kOfRemainder);
}

/// factor * tanh(inner * x) for large x.
Value buildLargeTanh(LaneBuilder &b, Value x, double inner, double factor) {
  // 1 - 2 / (1 + e^2x), where e^2x need not be larger than 2^64.
  Value power = b.mul(x, 2.0 * kLog2E * inner);
  Value larger = b.compare(arith::CmpFPredicate::OGT, power, b.real(x, 64.0));
  power = b.select(larger, b.real(x, 64.0), power);
  Value sum = b.add(buildQuickExp2(b, power), 1.0);
  return b.fma(reciprocal(b, sum), b.real(x, -2.0 * factor), b.real(x, factor));
}

/// factor * tanh(inner * x) for every x.
Value buildAnyTanh(LaneBuilder &b, Value x, double inner, double factor) {
  const TanhNearZero &near = kTanhNearZero[0];
  Value argument = b.mul(x, inner);
  Value square = b.mul(argument, argument);
  // Not of the argument, which may be subnormal where the result is not.
  Value small =
      b.mul(polynomial(b, square, near.coefficients), b.mul(x, factor * inner));
  Value isSmall = b.isLess(square, near.limit * near.limit);
  return b.select(isSmall, small, buildLargeTanh(b, x, inner, factor));
}

/// The coefficients of factor * tanh(inner * x) / x, if they are normal
/// numbers.
std::optional<SmallVector<double>> scaleTanh(ArrayRef<double> ofTanh,
                                             double inner, double factor) {
  SmallVector<double> coefficients;
  double scale = factor * inner;
  for (double coefficient : ofTanh) {
    double scaled = coefficient * scale;
    if (!(std::abs(scaled) > 1e-35 && std::abs(scaled) < 1e35))
      return std::nullopt;
    coefficients.push_back(scaled);
    scale *= inner * inner;
  }
  return coefficients;
}

} // namespace

/// Of f64.
static Value buildWideExpOfWeight(LaneBuilder &b, Value x) {
  // The remainder is at most ln(2) / 2, whose 13th power by 13! is 2e-16.
  constexpr int kTerms = 12;
  SmallVector<double> series = {1.0};
  for (int n = 1; n <= kTerms; ++n)
    series.push_back(series.back() / n);
  // As below, with the bits of 0 for 2^-1023.
  Value clamped = b.maximum(b.real(x, -1023 * std::numbers::ln2), x);
  Value magic = b.real(x, 0x1.8p52 + 1023);
  Value shifted = b.create<vector::FMAOp>(clamped, b.real(x, kLog2E), magic);
  Value nearest = b.sub(shifted, magic);
  Value remainder =
      b.create<vector::FMAOp>(nearest, b.real(x, -std::numbers::ln2), clamped);
  Type integers = b.getPieceType(b.getI64Type());
  Value bits = b.create<arith::BitcastOp>(integers, shifted);
  bits = b.create<arith::ShLIOp>(bits, b.integer(integers, 52));
  return b.mul(polynomial(b, remainder, series),
               b.create<arith::BitcastOp>(x.getType(), bits).getResult());
}

Value attn::buildExpOfWeight(LaneBuilder &b, Value x) {
  if (getElementTypeOrSelf(x.getType()).isF64())
    return buildWideExpOfWeight(b, x);
  return buildExp2OfWeight(b, b.mul(x, kLog2E), /*isRounded=*/false);
}

Value attn::buildExp2OfWeight(LaneBuilder &b, Value x, bool isRounded) {
  using Coefficients = ArrayRef<double>;
  if (hasScalef(b))
    return scale(b,
                 polynomial(b, fraction(b, x),
                            isRounded ? Coefficients(kOfRoundedFraction)
                                      : Coefficients(kOfFraction)),
                 x);
  // 2^-127 has the bits of 0.
  Value clamped = b.maximum(b.real(x, -127.0), x);
  Rounded rounded = roundToInteger(b, clamped, 127);
  Value remainder = b.sub(clamped, rounded.nearest);
  Value factor = b.create<arith::BitcastOp>(x.getType(), rounded.bits);
  return b.mul(polynomial(b, remainder,
                          isRounded ? Coefficients(kOfRoundedRemainder)
                                    : Coefficients(kOfRemainder)),
               factor);
}

Value attn::buildExp2(LaneBuilder &b, Value x) {
  if (hasScalef(b)) {
    Value rest = distanceToInteger(b, x);
    return scale(b, polynomial(b, rest, kOfRemainderClosely), b.sub(x, rest));
  }
  Rounded rounded = roundToInteger(b, x, 0);
  return raise(b, x, b.sub(x, rounded.nearest), rounded, kOfRemainderClosely);
}

Value attn::buildExp(LaneBuilder &b, Value x, double inner) {
  // inner * log2(e) in two parts, because in one the error would be that of the
  // whole power, not that of the remainder.
  double factor = inner * kLog2E;
  double high = static_cast<float>(factor);
  Value nearest = b.real(x, high);
  if (hasScalef(b)) {
    // Of what is less, 0, and of what is more, infinity.
    auto [lower, upper] = std::minmax({-104.0 / inner, 88.7228394 / inner});
    Value raised = b.maximum(b.real(x, lower), x);
    Value larger =
        b.compare(arith::CmpFPredicate::OGT, raised, b.real(x, upper));
    Value clamped = b.select(larger, b.real(x, upper), raised);
    Value power = b.mul(clamped, nearest);
    Value error = b.fma(clamped, nearest, b.negate(power));
    error = b.fma(clamped, b.real(x, factor - high), error);
    Value rest = b.add(fraction(b, power), error);
    return scale(b, polynomial(b, rest, kOfFraction), power);
  }
  Value power = b.mul(x, nearest);
  Rounded rounded = roundToInteger(b, power, 0);
  Value negated = b.negate(rounded.nearest);
  Value remainder = b.fma(x, nearest, negated);
  remainder = b.fma(x, b.real(x, factor - high), remainder);
  return raise(b, power, remainder, rounded, kOfRemainder);
}

Value attn::buildFastExp(LaneBuilder &b, Value x) {
  return buildQuickExp2(b, b.mul(x, kLog2E));
}

Value attn::buildReciprocal(LaneBuilder &b, Value x) {
  Value estimate = estimateReciprocal(b, x);
  Value error = errorOfReciprocal(b, x, estimate);
  // Of 0 and infinity, the estimate is the result, and the error is none.
  Value isFinite = b.compare(arith::CmpFPredicate::OGT, error, b.real(x, -1.0));
  Value better = b.fma(error, estimate, estimate);
  return b.select(isFinite, better, estimate);
}

std::optional<SmallTanh> attn::getSmallTanh(double inner, double factor) {
  const TanhNearZero &near = kTanhNearZero[1];
  std::optional<SmallVector<double>> coefficients =
      scaleTanh(near.coefficients, inner, factor);
  if (!coefficients)
    return std::nullopt;
  return SmallTanh{near.limit / std::abs(inner), std::move(*coefficients)};
}

Value attn::buildSmallTanh(LaneBuilder &b, const SmallTanh &tanh, Value x) {
  Value square = b.mul(x, x);
  return b.mul(polynomial(b, square, tanh.coefficients), x);
}

Value attn::buildExpOfSmallTanh(LaneBuilder &b, const SmallTanh &tanh, Value x,
                                Value shift) {
  SmallVector<double> coefficients(tanh.coefficients);
  for (double &coefficient : coefficients)
    coefficient *= kLog2E;
  Value square = b.mul(x, x);
  return buildQuickExp2(
      b, b.multiplyAdd(x, polynomial(b, square, coefficients), shift));
}

Value attn::buildTanhOfLanes(LaneBuilder &b, Value x, double inner) {
  Value argument = inner == 1 ? x : b.mul(x, inner);
  Value t = buildExp2(b, b.mul(b.abs(argument), -2.0 * kLog2E));
  return b.tanh(argument, t, reciprocal(b, b.add(t, 1.0)));
}

Pieces attn::buildTanh(LaneBuilder &b, const Pieces &row, bool isInOrder,
                       double inner, double factor) {
  // Scores are seldom as large as their cap. All of a row are small nearly
  // always, which costs half as much or less.
  Pieces squares;
  for (Value x : row)
    squares.push_back(b.mul(x, x));
  std::function<Pieces()> build = [&] {
    Pieces results;
    for (Value x : row)
      results.push_back(buildAnyTanh(b, x, inner, factor));
    return results;
  };
  if (isInOrder)
    return build();
  for (const TanhNearZero &near : kTanhNearZero) {
    std::optional<SmallVector<double>> coefficients =
        scaleTanh(near.coefficients, inner, factor);
    double limit = near.limit / inner;
    if (!coefficients || !(limit * limit < 1e35))
      break;
    build = [&, coefficients, limit, beyond = std::move(build)] {
      Value any;
      for (Value square : squares) {
        Value large = b.compare(arith::CmpFPredicate::UGT, square,
                                b.real(square, limit * limit));
        any = any ? b.create<arith::OrIOp>(any, large) : large;
      }
      any = b.create<vector::ReductionOp>(vector::CombiningKind::OR, any);
      return b.branch(any, beyond, [&] {
        Pieces results;
        for (auto [x, square] : llvm::zip(row, squares))
          results.push_back(b.mul(polynomial(b, square, *coefficients), x));
        return results;
      });
    };
  }
  return build();
}

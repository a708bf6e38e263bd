//===- ExpandFloat8.cpp - Conversions of floats of 8 bits -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/Float8.h"
#include "lib/Kernel/Passes.h"
#include "lib/Math/MathBuilder.h"

#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_EXPANDFLOAT8
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// OCP 8-bit Floating Point Specification (OFP8), revision 1.0.
struct Format {
  explicit Format(Type type) : isE5M2(isa<Float8E5M2Type>(type)) {}
  bool isE5M2;
  int mantissaBits() const { return isE5M2 ? 2 : 3; }
  /// Of the smallest normal number, whose steps are those of all smaller ones.
  int leastExponent() const { return isE5M2 ? -14 : -6; }
  double largest() const { return isE5M2 ? 57344 : 448; }
};

/// The bits of floats and integers of one width.
class Bits {
public:
  Bits(MathBuilder &b, Value like, unsigned width)
      : b(b), type(b.withElement(like, b.getIntegerType(width))) {}

  Value of(Value number) { return arith::BitcastOp::create(b, type, number); }
  Value constant(uint64_t value) { return b.integer(type, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value shiftLeft(Value x, uint64_t by) {
    return arith::ShLIOp::create(b, x, constant(by));
  }
  Value shiftRight(Value x, uint64_t by) {
    return arith::ShRUIOp::create(b, x, constant(by));
  }
  Value mask(Value x, uint64_t bits) { return b.bitAnd(x, constant(bits)); }

  MathBuilder &b;
  Type type;
};
} // namespace

static Value convert(MathBuilder &b, Value x, Type element) {
  Type from = getElementTypeOrSelf(x), to = b.withElement(x, element);
  if (from == element)
    return x;
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, to, x);
  return arith::TruncFOp::create(b, to, x);
}

/// As f16, whose bits begin as those of E5M2; E4M3 has a bit less of an
/// exponent, which the factor makes up for.
static Value widen(MathBuilder &b, Value number, Type element) {
  Format format(getElementTypeOrSelf(number));
  Bits half(b, number, 16);
  Value bits = arith::ExtSIOp::create(
      b, half.type,
      arith::BitcastOp::create(b, b.withElement(number, b.getI8Type()),
                               number));
  auto toF16 = [&](Value bits) -> Value {
    return arith::BitcastOp::create(b, b.withElement(number, b.getF16Type()),
                                    bits);
  };
  if (format.isE5M2) {
    Value f16 = toF16(half.shiftLeft(bits, 8));
    return element.isF16()
               ? f16
               : convert(b, convert(b, f16, b.getF32Type()), element);
  }
  // Behind the sign, there is another one.
  Value shifted = half.mask(half.shiftLeft(bits, 7), 0xbf80);
  Value isNaN =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            half.shiftLeft(shifted, 1), half.constant(0x7f00));
  // NaN, too, and the one constant that takes no load.
  shifted = b.select(isNaN, half.constant(0xffff), shifted);
  constexpr double kBetweenBiases = 256;
  return convert(
      b, b.mul(convert(b, toF16(shifted), b.getF32Type()), kBetweenBiases),
      element);
}

/// Rounded to nearest even from any type, and to the largest number from beyond
/// it, infinities too. The number of steps of its binade that a number is, and
/// the number of its binade, add up to its code: where the steps round up to
/// the next binade, too.
static Value narrow(MathBuilder &b, Value number, Type element) {
  Format format(element);
  Type type = getElementTypeOrSelf(number);
  if (type.getIntOrFloatBitWidth() < 32)
    number = convert(b, number, type = b.getF32Type());
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  auto fraction = uint64_t(APFloat::semanticsPrecision(semantics) - 1);
  int bias = APFloat::semanticsMaxExponent(semantics);
  unsigned width = type.getIntOrFloatBitWidth();
  Bits bits(b, number, width);

  Value magnitude = b.abs(number);
  // NaN is less than nothing.
  magnitude = b.select(b.isLess(magnitude, format.largest()), magnitude,
                       b.real(magnitude, format.largest()));
  Value least = bits.constant(uint64_t(bias + format.leastExponent()));
  Value exponent = arith::MaxSIOp::create(
      b, bits.shiftRight(bits.of(magnitude), fraction), least);
  auto mantissa = uint64_t(format.mantissaBits());
  Value scale = bits.shiftLeft(
      bits.sub(bits.constant(uint64_t(2 * bias) + mantissa), exponent),
      fraction);
  scale = arith::BitcastOp::create(b, magnitude.getType(), scale);
  // The sum has the nearest integer in its last bits.
  Value magic = b.real(magnitude, 3 * std::ldexp(1.0, int(fraction) - 1));
  Value steps =
      bits.sub(bits.of(b.add(b.mul(magnitude, scale), magic)), bits.of(magic));
  Value code =
      bits.add(bits.shiftLeft(bits.sub(exponent, least), mantissa), steps);
  Value isNaN = b.compare(arith::CmpFPredicate::UNO, number, number);
  code = b.select(isNaN, bits.constant(0x7f), code);
  Value sign = bits.mask(bits.shiftRight(bits.of(number), width - 8), 0x80);
  code = arith::TruncIOp::create(b, b.withElement(number, b.getI8Type()),
                                 b.bitOr(code, sign));
  return arith::BitcastOp::create(b, b.withElement(number, element), code);
}

namespace {
struct ExpandFloat8 : attn::impl::ExpandFloat8Base<ExpandFloat8> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
          (isFloat8(getElementTypeOrSelf(op->getOperand(0))) ||
           isFloat8(getElementTypeOrSelf(op->getResult(0)))))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      MathBuilder b(op->getLoc(), rewriter);
      Type element = getElementTypeOrSelf(op->getResult(0));
      rewriter.replaceOp(op, isa<arith::ExtFOp>(op)
                                 ? widen(b, op->getOperand(0), element)
                                 : narrow(b, op->getOperand(0), element));
    }
  }
};
} // namespace

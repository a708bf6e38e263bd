//===- MathBuilder.h - Functions of f32 by simpler ones ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MATH_MATHBUILDER_H
#define ATTN_MATH_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace mlir::attn {

/// Emits arithmetic of floats, or of vectors of these: of one type, which may
/// change in between by conversions.
class MathBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  virtual ~MathBuilder() = default;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// Constants of the type of `like`, and of `element` in its shape.
  virtual Value real(Value like, double value);
  Value integer(Type type, uint64_t value);
  static Type withElement(Value like, Type element);

  Value add(Value x, Value y) { return arith::AddFOp::create(*this, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(*this, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(*this, x, y); }
  Value add(Value x, double y) { return add(x, real(x, y)); }
  Value sub(double x, Value y) { return sub(real(y, x), y); }
  Value mul(Value x, double y) { return mul(x, real(x, y)); }
  Value div(double x, Value y) { return div(real(y, x), y); }
  Value negate(Value x) { return arith::NegFOp::create(*this, x); }
  Value bitAnd(Value x, Value y) { return arith::AndIOp::create(*this, x, y); }
  Value bitOr(Value x, Value y) { return arith::OrIOp::create(*this, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(*this, condition, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(*this, predicate, x, y);
  }
  Value isEqual(Value x, Value y) {
    return compare(arith::CmpFPredicate::OEQ, x, y);
  }
  Value isEqual(Value x, double y) { return isEqual(x, real(x, y)); }
  Value isLess(Value x, Value y) {
    return compare(arith::CmpFPredicate::OLT, x, y);
  }
  Value isLess(Value x, double y) { return isLess(x, real(x, y)); }
  Value isLess(double x, Value y) { return isLess(real(y, x), y); }

  Value abs(Value x) { return math::AbsFOp::create(*this, x); }
  Value floor(Value x) { return math::FloorOp::create(*this, x); }
  Value sqrt(Value x) { return math::SqrtOp::create(*this, x); }
  Value copySign(Value x, Value sign) {
    return math::CopySignOp::create(*this, x, sign);
  }
  /// Rounded once.
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(*this, x, y, z);
  }
  /// x * y + z, rounded once or twice: where no instruction rounds once, a
  /// vector would be a call for each element.
  Value multiplyAdd(Value x, Value y, Value z);
  /// (... (c0 x + c1) x + ...) x + cn
  Value polynomial(Value x, ArrayRef<double> coefficients);

  Value exp2(Value x) { return math::Exp2Op::create(*this, x); }
  /// 1 / x, as an instruction has it that is not correctly rounded, if there is
  /// one.
  Value reciprocal(Value x);
  /// e^x * 2^exponent, where only the product needs to be finite.
  Value exp(Value x, double exponent = 0);
  /// log(x) * unit
  Value log(Value x, double unit = 1.0);
  Value log1p(Value x);
  /// tanh(x), of t = e^(-2|x|), which never overflows, and 1 / (1 + t).
  Value tanh(Value x, Value t, Value inverse);
};

/// Operations of math on f32, or vectors of it, to those of MathBuilder: all
/// but `exp`, `exp2`, roots, `erfc`, and what rounds to integers. What they are
/// made of are no such operations. `isnan`, `isfinite` and `round` of
/// every type.
void populateExponentials(RewritePatternSet &patterns);
/// `expm1` alone.
void populateExpM1(RewritePatternSet &patterns, PatternBenefit benefit = 1);
void populateTrigonometry(RewritePatternSet &patterns);
void populatePowers(RewritePatternSet &patterns);

/// An expansion of operations on f32, with operands and result of one type.
template <typename SourceOp, Value (*expand)(MathBuilder &, ValueRange)>
struct ExpandF32 : OpRewritePattern<SourceOp> {
  using OpRewritePattern<SourceOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SourceOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getOperand(0).getType();
    auto vector = dyn_cast<VectorType>(type);
    if (!getElementTypeOrSelf(type).isF32() || (vector && vector.isScalable()))
      return rewriter.notifyMatchFailure(op, "there is no expansion");
    MathBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, expand(b, op->getOperands()));
    return success();
  }
};

} // namespace mlir::attn

#endif // ATTN_MATH_MATHBUILDER_H

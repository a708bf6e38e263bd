//===- MathBuilder.h - Functions of f32 by instructions of GPUs -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_MATHTONVVM_MATHBUILDER_H
#define ATTN_GPU_MATHTONVVM_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace mlir::attn {

/// Calls an LLVM intrinsic of scalars, or of the elements of vectors, whose
/// result has the type of its first operand. Other operands may be scalars.
Value createIntrinsic(OpBuilder &b, Location loc, StringRef intrinsic,
                      ValueRange operands);

/// Emits arithmetic of floats, or of vectors of these: of one type, which may
/// change in between by conversions.
class MathBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// Constants of the type of `like`, and of `element` in its shape.
  Value real(Value like, double value);
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

  Value abs(Value x) { return unary("llvm.fabs", x); }
  Value floor(Value x) { return unary("llvm.floor", x); }
  Value sqrt(Value x) { return unary("llvm.sqrt", x); }
  Value copySign(Value x, Value sign) {
    return createIntrinsic(*this, getLoc(), "llvm.copysign", {x, sign});
  }
  Value fma(Value x, Value y, Value z) {
    return createIntrinsic(*this, getLoc(), "llvm.fma", {x, y, z});
  }
  /// (... (c0 x + c1) x + ...) x + cn
  Value polynomial(Value x, ArrayRef<double> coefficients);

  // Of f32, not correctly rounded: to 2^-22 (PTX ISA, "ex2", "rcp"),
  // with subnormal numbers taken for 0.
  Value exp2(Value x) { return unary("llvm.nvvm.ex2.approx.ftz.f", x); }
  Value reciprocal(Value x) { return unary("llvm.nvvm.rcp.approx.ftz.f", x); }
  Value exp(Value x);
  /// log(x) * unit
  Value log(Value x, double unit = 1.0);
  Value log1p(Value x);

private:
  Value unary(StringRef intrinsic, Value x) {
    return createIntrinsic(*this, getLoc(), intrinsic, x);
  }
};

/// Operations of math on f32 to those of MathBuilder; `isnan`, `isfinite` and
/// `round` of every type.
void populateExpansions(RewritePatternSet &patterns);
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

#endif // ATTN_GPU_MATHTONVVM_MATHBUILDER_H

//===- ExpandMath.cpp - Math that upstream does not lower -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_EXPANDMATH
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {

Value createInteger(OpBuilder &b, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value createFloat(OpBuilder &b, Location loc, Type type, const APFloat &value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}
Value createFloat(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

/// |x| = inf.
Value expandIsInf(OpBuilder &b, math::IsInfOp op) {
  auto type = cast<FloatType>(op.getOperand().getType());
  Value absolute = math::AbsFOp::create(b, op.getLoc(), op.getOperand());
  Value infinity = createFloat(b, op.getLoc(), type,
                               APFloat::getInf(type.getFloatSemantics()));
  return arith::CmpFOp::create(b, op.getLoc(), arith::CmpFPredicate::OEQ,
                               absolute, infinity);
}

/// From the smallest normal number up, and below inf.
Value expandIsNormal(OpBuilder &b, math::IsNormalOp op) {
  Location loc = op.getLoc();
  auto type = cast<FloatType>(op.getOperand().getType());
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  Value absolute = math::AbsFOp::create(b, loc, op.getOperand());
  Value notSmall = arith::CmpFOp::create(
      b, loc, arith::CmpFPredicate::OGE, absolute,
      createFloat(b, loc, type, APFloat::getSmallestNormalized(semantics)));
  Value finite = arith::CmpFOp::create(
      b, loc, arith::CmpFPredicate::OLT, absolute,
      createFloat(b, loc, type, APFloat::getInf(semantics)));
  return arith::AndIOp::create(b, loc, notSmall, finite);
}

/// Upstream takes the minimum with the lower bound.
Value expandClamp(OpBuilder &b, math::ClampFOp op) {
  Value raised =
      arith::MaximumFOp::create(b, op.getLoc(), op.getValue(), op.getMin());
  return arith::MinimumFOp::create(b, op.getLoc(), raised, op.getMax());
}

/// tanh(x/2) * (exp(x) + 1). Upstream's exp(x) - 1 has no accuracy near 0.
Value expandExpM1(OpBuilder &b, math::ExpM1Op op) {
  Location loc = op.getLoc();
  Value x = op.getOperand();
  Value half = createFloat(b, loc, x.getType(), 0.5);
  Value one = createFloat(b, loc, x.getType(), 1.0);
  Value tanh =
      math::TanhOp::create(b, loc, arith::MulFOp::create(b, loc, x, half));
  Value sum =
      arith::AddFOp::create(b, loc, math::ExpOp::create(b, loc, x), one);
  return arith::MulFOp::create(b, loc, tanh, sum);
}

/// Squares and multiplies, once for every bit of the exponent. Of bases with
/// negative exponents only 1 and -1 give something, as with exponent -n.
Value expandIPow(OpBuilder &b, math::IPowIOp op) {
  Location loc = op.getLoc();
  Value base = op.getLhs(), exponent = op.getRhs();
  Type type = base.getType();
  unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                  : type.getIntOrFloatBitWidth();
  Value zero = createInteger(b, loc, type, 0);
  Value one = createInteger(b, loc, type, 1);
  Value lower = createInteger(b, loc, b.getIndexType(), 0);
  Value upper = createInteger(b, loc, b.getIndexType(), width);
  Value step = createInteger(b, loc, b.getIndexType(), 1);
  auto body = [&](OpBuilder &b, Location loc, Value, ValueRange carried) {
    Value result = carried[0], square = carried[1], rest = carried[2];
    Value odd =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(b, loc, rest, one), zero);
    Value product = arith::MulIOp::create(b, loc, result, square);
    Value next = arith::SelectOp::create(b, loc, odd, product, result);
    // i1 has one bit, and no shift by 1.
    Value half =
        width == 1 ? zero : Value(arith::ShRUIOp::create(b, loc, rest, one));
    scf::YieldOp::create(
        b, loc, {next, arith::MulIOp::create(b, loc, square, square), half});
  };
  Value power = scf::ForOp::create(b, loc, lower, upper, step,
                                   ValueRange{one, base, exponent}, body)
                    .getResult(0);
  Value negative =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, exponent, zero);
  Value absolute = math::AbsIOp::create(b, loc, base);
  Value isUnit =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, absolute, one);
  Value inverse = arith::SelectOp::create(b, loc, isUnit, power, zero);
  return arith::SelectOp::create(b, loc, negative, inverse, power);
}

template <typename Op, Value (*expand)(OpBuilder &, Op)>
struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getResult().getType().isIntOrIndexOrFloat())
      return failure();
    rewriter.replaceOp(op, expand(rewriter, op));
    return success();
  }
};

struct ExpandMath : attn::impl::ExpandMathBase<ExpandMath> {
  /// Of vectors, exp, which would otherwise be a call for each lane.
  void expandVectors() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](math::ExpOp op) {
      if (isa<VectorType>(op.getType()))
        ops.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::ExpOp::getOperationName();
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::IsInfOp, expandIsInf>,
                 Expand<math::IsNormalOp, expandIsNormal>,
                 Expand<math::ClampFOp, expandClamp>,
                 Expand<math::ExpM1Op, expandExpM1>,
                 Expand<math::IPowIOp, expandIPow>>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    expandVectors();
  }
};

} // namespace

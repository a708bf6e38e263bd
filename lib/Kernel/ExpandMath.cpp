//===- ExpandMath.cpp - Math that upstream does not lower -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Kernel/Passes.h"
#include "lib/Math/MathBuilder.h"

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_EXPANDMATH
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// |x| = inf.
Value expandIsInf(MathBuilder &b, math::IsInfOp op) {
  return b.isEqual(b.abs(op.getOperand()), MathBuilder::kInfinity);
}

/// From the smallest normal number up, and below inf.
Value expandIsNormal(MathBuilder &b, math::IsNormalOp op) {
  Value x = op.getOperand(), absolute = b.abs(x);
  auto type = cast<FloatType>(getElementTypeOrSelf(x));
  double smallest = APFloat::getSmallestNormalized(type.getFloatSemantics())
                        .convertToDouble();
  Value isNotSmall =
      b.compare(arith::CmpFPredicate::OGE, absolute, b.real(x, smallest));
  return b.bitAnd(isNotSmall, b.isLess(absolute, MathBuilder::kInfinity));
}

/// Upstream takes the minimum with the lower bound.
Value expandClamp(MathBuilder &b, math::ClampFOp op) {
  Value raised = arith::MaximumFOp::create(b, op.getValue(), op.getMin());
  return arith::MinimumFOp::create(b, raised, op.getMax());
}

/// Of f64, tanh(x/2) * (exp(x) + 1). Upstream's exp(x) - 1 has no accuracy near
/// 0.
Value expandExpM1(MathBuilder &b, math::ExpM1Op op) {
  Value x = op.getOperand();
  Value tanh = math::TanhOp::create(b, b.mul(x, 0.5));
  return b.mul(tanh, b.add(math::ExpOp::create(b, x).getResult(), 1.0));
}

/// Squares and multiplies, once for every bit of the exponent. Of bases with
/// negative exponents only 1 and -1 give something, as with exponent -n.
Value expandIPow(MathBuilder &builder, math::IPowIOp op) {
  IndexBuilder b(op.getLoc(), builder);
  Value base = op.getLhs(), exponent = op.getRhs();
  Type type = base.getType();
  unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                  : type.getIntOrFloatBitWidth();
  Value zero = b.zero(type),
        one = arith::ConstantOp::create(b, b.getOneAttr(type));
  auto body = [&](Value, ValueRange carried) -> SmallVector<Value> {
    Value result = carried[0], square = carried[1], rest = carried[2];
    Value odd = b.compare(arith::CmpIPredicate::ne, b.bitAnd(rest, one), zero);
    Value next = b.select(odd, b.mul(result, square), result);
    // i1 has one bit, and no shift by 1.
    Value half =
        width == 1 ? zero : Value(arith::ShRUIOp::create(b, rest, one));
    return {next, b.mul(square, square), half};
  };
  Value power = b.loop(0, width, 1, ValueRange{one, base, exponent}, body)[0];
  Value absolute = math::AbsIOp::create(b, base);
  Value inverse = b.select(b.isEqual(absolute, one), power, zero);
  return b.select(b.isLess(exponent, zero), inverse, power);
}

template <typename Op, Value (*expand)(MathBuilder &, Op)>
struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getResult().getType();
    if (!type.isIntOrIndexOrFloat() &&
        (std::is_same_v<Op, math::IPowIOp> || !isa<VectorType>(type)))
      return failure();
    MathBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, expand(b, op));
    return success();
  }
};

/// A polynomial for what is left of x by the nearest integer, times 2 to the
/// power of that: in two factors, because either end of the range is beyond
/// one.
Value expandExp2(MathBuilder &b, ValueRange operands) {
  Value x = operands[0];
  x = b.select(b.isLess(x, -150.0), b.real(x, -150.0), x);
  x = b.select(b.isLess(129.0, x), b.real(x, 129.0), x);
  // The sum has the integer in its last bits. Of NaN they are some.
  constexpr double kMagic = 0x1.8p23;
  Value sum = b.add(x, kMagic);
  // S. L. Moshier, Cephes, "exp2f.c".
  Value power =
      b.polynomial(b.sub(x, b.add(sum, -kMagic)),
                   {1.535336188e-4, 1.339887440e-3, 9.618437357e-3,
                    5.550332471e-2, 2.402264791e-1, 6.931472028e-1, 1.0});
  Type i32 = b.withElement(x, b.getI32Type());
  auto toBits = [&](Value number) {
    return arith::BitcastOp::create(b, i32, number);
  };
  Value exponent =
      arith::SubIOp::create(b, toBits(sum), toBits(b.real(x, kMagic)));
  Value half = arith::ShRSIOp::create(b, exponent, b.integer(i32, 1));
  for (Value part : {half, Value(arith::SubIOp::create(b, exponent, half))}) {
    Value bits = arith::ShLIOp::create(
        b, arith::AddIOp::create(b, part, b.integer(i32, 127)),
        b.integer(i32, 23));
    power = b.mul(power, arith::BitcastOp::create(b, x.getType(), bits));
  }
  return power;
}

/// Of upstream's approximations, these have relative errors below 3e-7.
bool isApproximatedUpstream(StringRef name) {
  return name == math::ExpOp::getOperationName() ||
         name == math::ErfcOp::getOperationName();
}

struct ExpandMath : attn::impl::ExpandMathBase<ExpandMath> {
  /// Of vectors, functions that would otherwise be a call for each element.
  void expandVectors() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (op->getNumResults() == 1 &&
          isa<VectorType>(op->getResultTypes()[0]) &&
          (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op)))
        ops.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns,
                                                isApproximatedUpstream);
    populateExponentials(patterns);
    populateTrigonometry(patterns);
    populatePowers(patterns);
    patterns.add<ExpandF32<math::Exp2Op, expandExp2>>(&getContext());
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
    populateExpM1(patterns, /*benefit=*/2);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    expandVectors();
  }
};

} // namespace

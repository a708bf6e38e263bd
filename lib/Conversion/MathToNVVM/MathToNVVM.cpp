//===- MathToNVVM.cpp - Math that GPUs have instructions for --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>
#include <numbers>

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTMATHTONVVM
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {

/// Whether an instruction exists for this element type.
using Support = bool (*)(Type);
bool isAnyFloat(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}
bool isF32(Type type) { return type.isF32(); }
bool isWideFloat(Type type) { return type.isF32() || type.isF64(); }

bool isScalable(Type type) {
  auto vectorType = dyn_cast<VectorType>(type);
  return vectorType && vectorType.isScalable();
}

/// An intrinsic of scalars, or of the elements of vectors, of the same type.
Value createIntrinsic(OpBuilder &b, Location loc, StringRef intrinsic,
                      ValueRange operands) {
  Type type = operands[0].getType();
  auto create = [&](ValueRange scalars) -> Value {
    return LLVM::CallIntrinsicOp::create(b, loc, getElementTypeOrSelf(type),
                                         b.getStringAttr(intrinsic), scalars)
        .getResult(0);
  };
  auto vectorType = dyn_cast<VectorType>(type);
  if (!vectorType)
    return create(operands);
  SmallVector<SmallVector<Value>> elements;
  for (Value operand : operands)
    elements.push_back(llvm::to_vector_of<Value>(
        vector::ToElementsOp::create(b, loc, operand).getResults()));
  SmallVector<Value> results;
  for (int64_t i = 0; i < vectorType.getNumElements(); ++i)
    results.push_back(create(llvm::map_to_vector(
        elements, [&](const auto &operand) { return operand[i]; })));
  return vector::FromElementsOp::create(b, loc, vectorType, results);
}

/// An operation on scalars or vectors to an intrinsic that becomes
/// instructions, one for each element.
template <typename SourceOp>
class ToIntrinsic : public OpRewritePattern<SourceOp> {
public:
  ToIntrinsic(MLIRContext *context, StringRef intrinsic, Support isSupported)
      : OpRewritePattern<SourceOp>(context), intrinsic(intrinsic),
        isSupported(isSupported) {}

  LogicalResult matchAndRewrite(SourceOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    if (!isSupported(getElementTypeOrSelf(type)) || isScalable(type))
      return rewriter.notifyMatchFailure(op, "there is no instruction");
    rewriter.replaceOp(op, createIntrinsic(rewriter, op.getLoc(), intrinsic,
                                           op->getOperands()));
    return success();
  }

private:
  StringRef intrinsic;
  Support isSupported;
};

Value createReal(OpBuilder &b, Location loc, Type type, double value) {
  Attribute attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vectorType = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vectorType, attr);
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(attr));
}

/// e^x = 2^(x log2(e)).
Value expandExp(OpBuilder &b, Location loc, Value x) {
  Value factor = createReal(b, loc, x.getType(), std::numbers::log2e);
  return math::Exp2Op::create(b, loc, arith::MulFOp::create(b, loc, x, factor));
}

/// log(x) = log2(x) log(2).
Value expandLog(OpBuilder &b, Location loc, Value x) {
  Value factor = createReal(b, loc, x.getType(), std::numbers::ln2);
  return arith::MulFOp::create(b, loc, math::Log2Op::create(b, loc, x), factor);
}

/// With u = 1 + x as rounded, log(u) x / (u - 1), in which the rounding cancels
/// (Goldberg, "What every computer scientist should know about floating-point
/// arithmetic", theorem 4), or x where u is 1 or infinite.
Value expandLog1p(OpBuilder &b, Location loc, Value x) {
  Value one = createReal(b, loc, x.getType(), 1.0);
  Value u = arith::AddFOp::create(b, loc, one, x);
  Value difference = arith::SubFOp::create(b, loc, u, one);
  Value ratio = arith::DivFOp::create(b, loc, x, difference);
  Value product = arith::MulFOp::create(b, loc, expandLog(b, loc, u), ratio);
  auto isEqual = [&](Value lhs, Value rhs) -> Value {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lhs, rhs);
  };
  Value infinity =
      createReal(b, loc, x.getType(), std::numeric_limits<double>::infinity());
  Value isPlain =
      arith::OrIOp::create(b, loc, isEqual(u, one), isEqual(u, infinity));
  return arith::SelectOp::create(b, loc, isPlain, x, product);
}

/// (1 - t) / (1 + t) with the sign of x and t = e^(-2|x|), which never
/// overflows. There is an instruction, but with an error of 2^-11. The
/// reciprocal's is 2^-23, where a division takes ten instructions.
Value expandTanh(OpBuilder &b, Location loc, Value x) {
  Value factor = createReal(b, loc, x.getType(), -2 * std::numbers::log2e);
  Value absolute = math::AbsFOp::create(b, loc, x);
  Value t = math::Exp2Op::create(
      b, loc, arith::MulFOp::create(b, loc, absolute, factor));
  Value one = createReal(b, loc, x.getType(), 1.0);
  Value reciprocal =
      createIntrinsic(b, loc, "llvm.nvvm.rcp.approx.ftz.f",
                      arith::AddFOp::create(b, loc, one, t).getResult());
  Value quotient = arith::MulFOp::create(
      b, loc, arith::SubFOp::create(b, loc, one, t), reciprocal);
  return math::CopySignOp::create(b, loc, quotient, x);
}

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

/// An operation on f32 to others that there are instructions for.
template <typename SourceOp, Value (*expand)(OpBuilder &, Location, Value)>
struct Expand : OpRewritePattern<SourceOp> {
  using OpRewritePattern<SourceOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SourceOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(getElementTypeOrSelf(op.getType())) || isScalable(op.getType()))
      return rewriter.notifyMatchFailure(op, "there is no instruction");
    rewriter.replaceOp(op, expand(rewriter, op.getLoc(), op.getOperand()));
    return success();
  }
};

struct ConvertMathToNVVM
    : attn::impl::ConvertMathToNVVMBase<ConvertMathToNVVM> {
  using ConvertMathToNVVMBase::ConvertMathToNVVMBase;

  void runOnOperation() override;
};

} // namespace

static void populateExpansions(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, expandExp>, Expand<math::LogOp, expandLog>,
               Expand<math::Log1pOp, expandLog1p>,
               Expand<math::TanhOp, expandTanh>, ExpandAbsI>(
      patterns.getContext());
}

static void populatePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ToIntrinsic<math::AbsFOp>>(context, "llvm.fabs", isAnyFloat);
  patterns.add<ToIntrinsic<math::CeilOp>>(context, "llvm.ceil", isAnyFloat);
  patterns.add<ToIntrinsic<math::FloorOp>>(context, "llvm.floor", isAnyFloat);
  patterns.add<ToIntrinsic<math::TruncOp>>(context, "llvm.trunc", isAnyFloat);
  patterns.add<ToIntrinsic<math::RoundEvenOp>>(context, "llvm.roundeven",
                                               isAnyFloat);
  patterns.add<ToIntrinsic<math::CopySignOp>>(context, "llvm.copysign",
                                              isAnyFloat);
  patterns.add<ToIntrinsic<math::FmaOp>>(context, "llvm.fma", isAnyFloat);
  patterns.add<ToIntrinsic<arith::MaxNumFOp>>(context, "llvm.maxnum",
                                              isAnyFloat);
  patterns.add<ToIntrinsic<arith::MinNumFOp>>(context, "llvm.minnum",
                                              isAnyFloat);
  patterns.add<ToIntrinsic<math::SqrtOp>>(context, "llvm.sqrt", isWideFloat);
  // Not correctly rounded: to 2^-22 (PTX ISA, "ex2", "lg2", "rsqrt"), with
  // subnormal numbers taken for 0.
  patterns.add<ToIntrinsic<math::Exp2Op>>(context, "llvm.nvvm.ex2.approx.ftz.f",
                                          isF32);
  patterns.add<ToIntrinsic<math::Log2Op>>(context, "llvm.nvvm.lg2.approx.ftz.f",
                                          isF32);
  patterns.add<ToIntrinsic<math::RsqrtOp>>(
      context, "llvm.nvvm.rsqrt.approx.ftz.f", isF32);
}

void ConvertMathToNVVM::runOnOperation() {
  RewritePatternSet expansions(&getContext());
  populateExpansions(expansions);
  walkAndApplyPatterns(getOperation(), std::move(expansions));
  RewritePatternSet patterns(&getContext());
  populatePatterns(patterns);
  walkAndApplyPatterns(getOperation(), std::move(patterns));
  // Upstream makes them calls of libdevice, which is not linked.
  WalkResult result = getOperation().walk([](Operation *op) {
    if (!isa<math::MathDialect>(op->getDialect()) &&
        !isa<arith::MaxNumFOp, arith::MinNumFOp, arith::RemFOp>(op))
      return WalkResult::advance();
    op->emitOpError("has no instruction on GPUs for ")
        << op->getResult(0).getType();
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}

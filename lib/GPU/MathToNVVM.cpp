//===- MathToNVVM.cpp - Math that GPUs have instructions for --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"
#include "lib/Math/MathBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTMATHTONVVM
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Calls an LLVM intrinsic of scalars, or of the elements of vectors, whose
/// result has the type of its first operand. Other operands may be scalars.
static Value createIntrinsic(OpBuilder &b, Location loc, StringRef intrinsic,
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
  int64_t count = vectorType.getNumElements();
  SmallVector<SmallVector<Value>> elements;
  for (Value operand : operands)
    if (isa<VectorType>(operand.getType()))
      elements.push_back(llvm::to_vector_of<Value>(
          vector::ToElementsOp::create(b, loc, operand).getResults()));
    else
      elements.emplace_back(count, operand);
  SmallVector<Value> results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(create(llvm::map_to_vector(
        elements, [&](const auto &operand) { return operand[i]; })));
  return vector::FromElementsOp::create(b, loc, vectorType, results);
}

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

/// 1 / x with `arcp`, with an error of 2^-23 where a division takes ten
/// instructions. Subnormal numbers are taken for 0 (PTX ISA, "rcp").
struct ReciprocalToIntrinsic : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(getElementTypeOrSelf(op.getType())) ||
        isScalable(op.getType()) || !matchPattern(op.getLhs(), m_OneFloat()) ||
        !bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::arcp))
      return rewriter.notifyMatchFailure(op, "not an approximate reciprocal");
    rewriter.replaceOp(op, createIntrinsic(rewriter, op.getLoc(),
                                           "llvm.nvvm.rcp.approx.ftz.f",
                                           op.getRhs()));
    return success();
  }
};

bool isNarrowFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

/// Functions of f16 and bf16 by those of f32, rounded.
struct WidenNarrow : RewritePattern {
  WidenNarrow(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!(isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op)) ||
        isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::TruncOp,
            math::RoundOp, math::RoundEvenOp, math::CopySignOp, math::FmaOp>(
            op) ||
        !llvm::all_of(op->getResultTypes(), isNarrowFloat))
      return rewriter.notifyMatchFailure(op, "not a function of few bits");
    MathBuilder b(op->getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Type wide = MathBuilder::withElement(operand, b.getF32Type());
      operands.push_back(isNarrowFloat(operand.getType())
                             ? arith::ExtFOp::create(b, wide, operand)
                             : operand);
    }
    SmallVector<Type> types;
    for (Value result : op->getResults())
      types.push_back(MathBuilder::withElement(result, b.getF32Type()));
    OperationState state(op->getLoc(), op->getName(), operands, types,
                         op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    SmallVector<Value> results;
    for (auto [wide, narrow] :
         llvm::zip_equal(b.create(state)->getResults(), op->getResultTypes()))
      results.push_back(arith::TruncFOp::create(b, narrow, wide));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Counts of bits. Of the intrinsics that count zeros, 0 has as many as bits.
template <typename SourceOp>
class CountToIntrinsic : public OpRewritePattern<SourceOp> {
public:
  CountToIntrinsic(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<SourceOp>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(SourceOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isa<IntegerType>(getElementTypeOrSelf(type)) || isScalable(type))
      return rewriter.notifyMatchFailure(op, "there is no instruction");
    SmallVector<Value> operands = {op.getOperand()};
    if (!isa<math::CtPopOp>(op))
      operands.push_back(arith::ConstantOp::create(
          rewriter, op.getLoc(), rewriter.getBoolAttr(false)));
    rewriter.replaceOp(
        op, createIntrinsic(rewriter, op.getLoc(), intrinsic, operands));
    return success();
  }

private:
  StringRef intrinsic;
};

struct ConvertMathToNVVM
    : attn::impl::ConvertMathToNVVMBase<ConvertMathToNVVM> {
  using ConvertMathToNVVMBase::ConvertMathToNVVMBase;

  void runOnOperation() override;
};

} // namespace

static Value expandExp(MathBuilder &b, ValueRange x) { return b.exp(x[0]); }

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
  patterns.add<ToIntrinsic<vector::FMAOp>>(context, "llvm.fma", isAnyFloat);
  patterns.add<ReciprocalToIntrinsic>(context);
  patterns.add<ToIntrinsic<arith::MaxNumFOp>>(context, "llvm.maxnum",
                                              isAnyFloat);
  patterns.add<ToIntrinsic<arith::MinNumFOp>>(context, "llvm.minnum",
                                              isAnyFloat);
  patterns.add<ToIntrinsic<math::SqrtOp>>(context, "llvm.sqrt", isWideFloat);
  // Not correctly rounded: to 2^-22 (PTX ISA, "ex2", "rsqrt"), the first with
  // subnormal numbers taken for 0.
  patterns.add<ToIntrinsic<math::Exp2Op>>(context, "llvm.nvvm.ex2.approx.ftz.f",
                                          isF32);
  patterns.add<ToIntrinsic<math::RsqrtOp>>(context, "llvm.nvvm.rsqrt.approx.f",
                                           isF32);
  patterns.add<CountToIntrinsic<math::CountLeadingZerosOp>>(context,
                                                            "llvm.ctlz");
  patterns.add<CountToIntrinsic<math::CountTrailingZerosOp>>(context,
                                                             "llvm.cttz");
  patterns.add<CountToIntrinsic<math::CtPopOp>>(context, "llvm.ctpop");
}

void ConvertMathToNVVM::runOnOperation() {
  RewritePatternSet widening(&getContext());
  widening.add<WidenNarrow>(&getContext());
  walkAndApplyPatterns(getOperation(), std::move(widening));
  // Of upstream's, these have relative errors below 3e-7 everywhere. Logarithms
  // of subnormal numbers have 9e-2, arc tangents 4e-6, and sines of large
  // numbers and cubic roots more than 1.
  RewritePatternSet approximations(&getContext());
  populateMathPolynomialApproximationPatterns(
      approximations,
      [](StringRef name) { return name == math::ErfcOp::getOperationName(); });
  walkAndApplyPatterns(getOperation(), std::move(approximations));
  RewritePatternSet expansions(&getContext());
  expansions.add<ExpandF32<math::ExpOp, expandExp>>(&getContext());
  populateExponentials(expansions);
  populateTrigonometry(expansions);
  populatePowers(expansions);
  walkAndApplyPatterns(getOperation(), std::move(expansions));
  RewritePatternSet patterns(&getContext());
  populatePatterns(patterns);
  walkAndApplyPatterns(getOperation(), std::move(patterns));
  // Upstream makes them calls of libdevice, which is not linked.
  WalkResult result = getOperation().walk([](Operation *op) {
    if (!isa<math::MathDialect>(op->getDialect()) &&
        !isa<arith::MaxNumFOp, arith::MinNumFOp, arith::RemFOp>(op))
      return WalkResult::advance();
    return WalkResult(op->emitOpError("has no instruction on GPUs for ")
                      << op->getResult(0).getType());
  });
  if (result.wasInterrupted())
    signalPassFailure();
}

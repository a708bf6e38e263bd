//===- DropoutOp.cpp - attn.dropout ---------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyDropoutRate(Operation *op, FloatAttr rate,
                                      StringRef name) {
  double number = rate.getValueAsDouble();
  if (number >= 0.0 && number < 1.0)
    return success();
  return op->emitOpError() << "expected '" << name << "' in [0, 1), got "
                           << number;
}

LogicalResult DropoutOp::verify() {
  if (getOuts().size() != 1)
    return emitOpError() << "expected 1 operand 'outs', got "
                         << getOuts().size();
  StringRef shape[] = {"B", "S", "M"};
  if (failed(verifyShaped(*this, getInput(), "input", shape, nullptr)) || // D1
      failed(verifyFloat(*this, getInput(), "input")) ||
      failed(verifyShaped(*this, getOutput(), "output", shape,
                          getInputType().getElementType())) ||
      failed(verifyDropoutRate(*this, getRateAttr(), "rate")))
    return failure();
  return failure(failed(verifyOneKind(*this)) ||
                 failed(verifySizes(*this, getSizeConstraints())));
}

SmallVector<SizeConstraint> DropoutOp::getSizeConstraints() {
  OperandSize input{getInput(), 0, "input"}, output{getOutput(), 0, "output"};
  return {{output, input, "batch size"},
          {output.at(1), input.at(1), "sequence length"},
          {output.at(2), input.at(2), "width"}};
}

void DropoutOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, {}, {getInput(), getOutput()});
  checkSizes(builder, loc, *this, getSizeConstraints(), describe);
}

/// The destination that a value has its sizes from.
static Value getOrigin(Value value) {
  if (auto op = value.getDefiningOp<DestinationStyleOpInterface>())
    return op.getTiedOpOperand(cast<OpResult>(value))->get();
  return value;
}

/// Whether the sizes of both are known to be equal, so that nothing is left to
/// check at run time.
static bool haveSameSizes(Value input, Value output) {
  if (cast<ShapedType>(input.getType()).hasStaticShape())
    return true; // The verifier has compared them.
  input = getOrigin(input);
  auto empty = output.getDefiningOp<tensor::EmptyOp>();
  if (!empty || empty == input.getDefiningOp())
    return input == getOrigin(output);
  for (auto [dim, size] : llvm::enumerate(empty.getMixedSizes())) {
    auto value = dyn_cast<Value>(size);
    auto of = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
    if (value && (!of || getOrigin(of.getSource()) != input ||
                  of.getConstantIndex() != dim))
      return false;
  }
  return true;
}

namespace {
/// D2
struct EraseZeroRate : OpRewritePattern<DropoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DropoutOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getRate().isZero() || op->getNumResults() == 0 ||
        op.getInput().getType() != op->getResult(0).getType() ||
        !haveSameSizes(op.getInput(), op.getOutput()))
      return failure();
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};
} // namespace

void DropoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<EraseZeroRate>(context);
}

//===- Gradient.cpp - The gradient of a function --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/FunctionDerivative.h"
#include "lib/Gradient/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_GRADIENT
#include "lib/Gradient/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Makes a function the gradient of what it was.
class FunctionGradient : FunctionDerivative {
public:
  using FunctionDerivative::FunctionDerivative;

  LogicalResult run() {
    if (failed(choose()))
      return failure();
    findActive();
    SmallVector<Operation *> operations;
    for (Operation &op : block.without_terminator())
      operations.push_back(&op);
    addArguments();
    for (Operation *op : llvm::reverse(operations))
      if (failed(visit(op)))
        return failure();
    SmallVector<Value> wanted;
    for (unsigned number : wrt) {
      Value argument = block.getArgument(number);
      Value gradient = gradients.lookup(argument);
      wanted.push_back(
          gradient ? gradient : emitZerosLike(b, function.getLoc(), argument));
    }
    return finish(wanted);
  }

private:
  /// Marks what depends on an argument of `wrt`.
  void findActive() {
    for (unsigned number : wrt)
      active.insert(block.getArgument(number));
    for (Operation &op : block) {
      bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
        return active.contains(operand);
      });
      if (depends || capturesActive(op))
        for (Value result : op.getResults())
          if (isOfFloats(result.getType()))
            active.insert(result);
    }
  }

  /// Whether a body reads from outside what depends on such an argument.
  bool capturesActive(Operation &op) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    return llvm::any_of(captured,
                        [&](Value value) { return active.contains(value); });
  }

  /// What `@f` gave, if it is saved, and the gradients of it.
  void addArguments() {
    addSaved();
    for (unsigned number : results) {
      Value value = given->getOperand(number);
      addTo(value, addArgument(value.getType(),
                               "gradient" + suffix(number, results.size())));
    }
  }

  LogicalResult visit(Operation *op) {
    SmallVector<Value> ofResults;
    bool depends = false, isActive = false;
    for (Value result : op->getResults()) {
      ofResults.push_back(gradients.lookup(result));
      depends |= bool(ofResults.back());
      isActive |= active.contains(result);
    }
    if (!depends || !isActive)
      return success();
    if (capturesActive(*op))
      return refuseGradient(op, "its body reads what a gradient is asked for, "
                                "or depends on it, from outside");
    OpGradients of(std::move(ofResults), active);
    auto differentiable = dyn_cast<Differentiable>(op);
    if (!differentiable)
      return refuseGradient(op);
    if (failed(differentiable.emitGradients(b, of)))
      return failure();
    for (auto [operand, gradient] : of.getOfOperands())
      if (active.contains(operand))
        addTo(operand, gradient);
    return success();
  }

  /// Adds a part to the gradient of a value.
  void addTo(Value value, Value part) {
    Value &sum = gradients[value];
    if (!sum) {
      sum = part;
      return;
    }
    Location loc = part.getLoc();
    if (isa<FloatType>(part.getType())) {
      sum = arith::AddFOp::create(b, loc, sum, part);
      return;
    }
    Value out = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, part),
        cast<ShapedType>(part.getType()).getElementType());
    sum = linalg::AddOp::create(b, loc, ValueRange{sum, part}, ValueRange(out))
              .getResult(0);
  }

  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
};

struct Gradient : attn::impl::GradientBase<Gradient> {
  using GradientBase::GradientBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    GradientBase::getDependentDialects(registry);
    registerDifferentiableModels(registry);
  }

  void runOnOperation() override {
    auto run = [&](OpPassManager &passes, Operation *op) {
      return runPipeline(passes, op);
    };
    auto derive = [&](func::FuncOp function) {
      return FunctionGradient(function, results, wrt, saved).run();
    };
    if (failed(addDerivative(getOperation(), of, "_gradient", run, derive)))
      signalPassFailure();
  }
};

} // namespace

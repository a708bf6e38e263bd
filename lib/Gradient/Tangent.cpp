//===- Tangent.cpp - The tangent of a function ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/FunctionDerivative.h"
#include "lib/Gradient/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TANGENT
#include "lib/Gradient/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Makes a function the tangent of what it was.
class FunctionTangent : FunctionDerivative {
public:
  using FunctionDerivative::FunctionDerivative;

  LogicalResult run() {
    if (failed(choose()))
      return failure();
    addArguments();
    if (failed(emitTangentsOfBlock(b, block, tangents)))
      return failure();
    b.setInsertionPoint(given);
    SmallVector<Value> wanted;
    for (unsigned number : results)
      wanted.push_back(tangents.getOrZeros(b, given->getOperand(number)));
    return finish(wanted);
  }

private:
  /// What `@f` gave, if it is saved, and the tangents of arguments.
  void addArguments() {
    addSaved();
    for (unsigned number : wrt) {
      Value argument = block.getArgument(number);
      std::string name = "tangent" + suffix(number, wrt.size());
      if (auto named = dyn_cast<NameLoc>(argument.getLoc()))
        name = (named.getName().getValue() + "_tangent").str();
      tangents.set(argument, addArgument(argument.getType(), name));
    }
  }

  OpTangents tangents;
};

struct Tangent : attn::impl::TangentBase<Tangent> {
  using TangentBase::TangentBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    TangentBase::getDependentDialects(registry);
    registerDifferentiableModels(registry);
  }

  void runOnOperation() override {
    auto run = [&](OpPassManager &passes, Operation *op) {
      return runPipeline(passes, op);
    };
    auto derive = [&](func::FuncOp function) {
      return FunctionTangent(function, results, wrt, saved).run();
    };
    if (failed(addDerivative(getOperation(), of, "_tangent", run, derive)))
      signalPassFailure();
  }
};

} // namespace

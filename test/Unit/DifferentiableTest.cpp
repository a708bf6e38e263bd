//===- DifferentiableTest.cpp - Derivatives of a user's operation ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation that Attn knows nothing of takes part in both modes as soon as
// it has Differentiable attached.
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/Differentiable.h"
#include "lib/Gradient/Passes.h"
#include "lib/Registration/Registration.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr const char *kText = R"(
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %i = tensor.empty() : tensor<3xf32>
  %r = linalg.negf ins(%x : tensor<3xf32>) outs(%i : tensor<3xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
})";

/// A linear operation, whose derivatives are it again.
struct NegationModel
    : Differentiable::ExternalModel<NegationModel, linalg::NegFOp> {
  static Value negate(OpBuilder &b, Location loc, Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    Value init =
        tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
    return linalg::NegFOp::create(b, loc, ValueRange(x), ValueRange(init))
        .getResult(0);
  }
  LogicalResult emitGradients(Operation *op, OpBuilder &b,
                              OpGradients &gradients) const {
    gradients.set(op->getOperand(0),
                  negate(b, op->getLoc(), gradients.getOfResult(0)));
    return success();
  }
  LogicalResult emitTangents(Operation *op, OpBuilder &b,
                             OpTangents &tangents) const {
    tangents.set(op->getResult(0),
                 negate(b, op->getLoc(), tangents.get(op->getOperand(0))));
    return success();
  }
};

/// The derivatives of `kText`, or the error.
std::string differentiate(bool isKnown) {
  DialectRegistry registry;
  registerKernelDialects(registry);
  if (isKnown)
    registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
      linalg::NegFOp::attachInterface<NegationModel>(*context);
    });
  MLIRContext context(registry);
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  auto module = parseSourceString<ModuleOp>(kText, &context);
  EXPECT_TRUE(module);
  PassManager pm(&context);
  GradientOptions gradient;
  gradient.of = "f";
  pm.addPass(createGradient(gradient));
  TangentOptions tangent;
  tangent.of = "f";
  pm.addPass(createTangent(tangent));
  if (failed(pm.run(*module)))
    return message;
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

TEST(Differentiable, IsAttachedByAUser) {
  std::string text = differentiate(/*isKnown=*/true);
  for (const char *name : {"@f_gradient", "@f_tangent"}) {
    std::size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NE(text.find("linalg.negf", at), std::string::npos) << text;
  }
}

TEST(Differentiable, IsNamedWhereItIsMissing) {
  EXPECT_EQ(differentiate(/*isKnown=*/false), "'linalg.negf' has no gradient");
}

} // namespace

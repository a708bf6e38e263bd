//===- ScoreGradient.cpp - Derivatives of a score, by position ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/ScoreGradient.h"
#include "lib/Regions/RegionDerivative.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult ScoreGradient::prepare(unsigned firstCapture,
                                     ArrayRef<int64_t> ofCaptures) {
  if (score.empty())
    return success();
  if (failed(differentiateRegion(score, score.getArgument(0), slope)))
    return failure();
  for (auto [capture, number] : llvm::enumerate(ofCaptures)) {
    BlockArgument argument = score.getArgument(firstCapture + unsigned(number));
    for (Value variable : findVariables(argument)) {
      auto &added = variables.emplace_back(std::make_unique<Variable>());
      added->capture = capture;
      if (failed(differentiateRegion(score, variable, added->derivative)))
        return failure();
      if (Operation *load = variable.getDefiningOp())
        for (Value index : llvm::drop_begin(load->getOperands()))
          copyYielding(
              score, index,
              *added->indices.emplace_back(std::make_unique<Region>()));
    }
  }
  return success();
}

Value ScoreGradient::emitSlope(ValueRange arguments) {
  return evaluate(slope, arguments);
}

void ScoreGradient::addToCaptures(Value ofScore, ValueRange arguments,
                                  MutableArrayRef<Value> sums) {
  for (std::unique_ptr<Variable> &variable : variables) {
    Value added = arith::MulFOp::create(
        b, loc, ofScore, evaluate(variable->derivative, arguments));
    SmallVector<Value> at;
    for (std::unique_ptr<Region> &index : variable->indices)
      at.push_back(evaluate(*index, arguments));
    Value &sum = sums[variable->capture];
    sum = addIfInside(added, at, sum);
  }
}

/// A region that is defined where the score is, or is not needed there.
Value ScoreGradient::evaluate(Region &region, ValueRange arguments) {
  return evaluateRegion(b, region, arguments).value;
}

/// `sums` with `added` at one place. What a select does not choose may be
/// loaded outside (A12), and has a derivative of 0.
Value ScoreGradient::addIfInside(Value added, ValueRange at, Value sums) {
  Value inside = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  for (auto [dimension, index] : llvm::enumerate(at)) {
    Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index,
                                     dim(sums, int64_t(dimension)));
    inside = arith::AndIOp::create(b, loc, inside, is);
  }
  return either(
      inside,
      [&]() -> Value {
        Value sum = tensor::ExtractOp::create(b, loc, sums, at);
        sum = arith::AddFOp::create(b, loc, sum, added);
        return tensor::InsertOp::create(b, loc, sum, sums, at);
      },
      [&] { return sums; });
}

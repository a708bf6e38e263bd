//===- ScoreGradient.cpp - Derivatives of a score, by position ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/ScoreGradient.h"
#include "lib/Regions/RegionDerivative.h"
#include "lib/Regions/RegionEvaluation.h"

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

/// The value of a region that is defined where the score is, or is not needed
/// there.
static Value evaluate(IndexBuilder &b, Region &region, ValueRange arguments) {
  return evaluateRegion(b, region, arguments).value;
}

Value ScoreGradient::emitSlope(IndexBuilder &b, ValueRange arguments) {
  return evaluate(b, slope, arguments);
}

/// `sums` with `added` at one place. What a select does not choose may be
/// loaded outside (A12), and has a derivative of 0.
static Value addIfInside(IndexBuilder &b, Value added, ValueRange at,
                         Value sums) {
  Value inside = b.boolean(true);
  for (auto [dimension, index] : llvm::enumerate(at))
    inside = b.bitAnd(inside, b.compare(arith::CmpIPredicate::ult, index,
                                        b.size(sums, int64_t(dimension))));
  return b.choose(
      inside,
      [&] { return b.store(b.addF(b.load(sums, at), added), sums, at); },
      [&] { return sums; });
}

void ScoreGradient::addToCaptures(IndexBuilder &b, Value ofScore,
                                  ValueRange arguments,
                                  MutableArrayRef<Value> sums) {
  for (std::unique_ptr<Variable> &variable : variables) {
    Value added = b.mulF(ofScore, evaluate(b, variable->derivative, arguments));
    SmallVector<Value> at;
    for (std::unique_ptr<Region> &index : variable->indices)
      at.push_back(evaluate(b, *index, arguments));
    Value &sum = sums[variable->capture];
    sum = addIfInside(b, added, at, sum);
  }
}

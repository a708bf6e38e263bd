//===- CaptureGradients.cpp - Gradients of captures -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/CaptureGradients.h"

#include "dialect/AttnOps.h"

#include <cmath>
#include <functional>
#include <numeric>

using namespace attn;
using namespace attn::interpreter;

mlir::FailureOr<CaptureGradients>
CaptureGradients::create(mlir::Region &score,
                         llvm::ArrayRef<std::int64_t> ofCaptures,
                         std::vector<Datum> captures) {
  CaptureGradients result;
  mlir::FailureOr<RegionInterpreter> interpreter =
      RegionInterpreter::create(score);
  if (mlir::failed(interpreter))
    return mlir::failure();
  result.interpreter = std::move(*interpreter);
  for (std::int64_t number : ofCaptures) {
    std::vector<std::int64_t> shape;
    if (auto *tensor = std::get_if<std::shared_ptr<const Tensor>>(
            &captures[std::size_t(number)]))
      shape = (*tensor)->shape();
    mlir::BlockArgument argument = score.getArgument(
        mlir::attn::AttentionOp::kNumScoreArguments + unsigned(number));
    if (!llvm::isa<mlir::ShapedType>(argument.getType()))
      result.variables.push_back({argument, result.sums.size()});
    for (mlir::Operation *user : argument.getUsers())
      if (user->getNumOperands() > 0 && user->getOperand(0) == argument &&
          llvm::isa<mlir::ShapedType>(argument.getType()))
        result.variables.push_back({user->getResult(0), result.sums.size()});
    std::int64_t size = std::accumulate(shape.begin(), shape.end(),
                                        std::int64_t(1), std::multiplies<>());
    result.sums.emplace_back(std::size_t(size), 0.0);
    result.errors.emplace_back(std::size_t(size));
    result.shapes.push_back(std::move(shape));
  }
  result.captures = std::move(captures);
  return result;
}

void CaptureGradients::add(double s, std::int64_t b, std::int64_t h,
                           std::int64_t p, std::int64_t j,
                           const reference::BackwardProblem::OfScore &of) {
  if (row != std::array{b, h, p})
    finishRow();
  row = {b, h, p};
  std::vector<Datum> leading = {s, makeIndex(b), makeIndex(h), makeIndex(p),
                                makeIndex(j)};
  for (const Variable &variable : variables) {
    interpreter->evaluate(leading, captures);
    Roundings roundings = interpreter->getRoundings();
    const double *value =
        std::get_if<double>(&interpreter->getLast(variable.value));
    // Outside of the tensor, and so of no effect (A12).
    if (!value)
      continue;
    std::size_t at = 0;
    if (mlir::Operation *load = variable.value.getDefiningOp())
      for (auto [size, index] : llvm::zip(
               shapes[variable.capture], llvm::drop_begin(load->getOperands())))
        at = at * std::size_t(size) +
             std::get<llvm::APInt>(interpreter->getLast(index)).getZExtValue();
    reference::ErrorSum &error = errors[variable.capture][at];
    if (!std::isfinite(*value)) { // Without neighbours.
      if (of.gradient != 0)
        error.forget();
      continue;
    }
    double step = 1e-4 * std::fmax(1, std::fabs(*value));
    auto evaluate = [&](double x) {
      Datum score = interpreter->evaluate(leading, captures, variable.value, x,
                                          roundings);
      const double *number = std::get_if<double>(&score);
      return number ? *number : 0.0;
    };
    reference::Slope slope = reference::findSlope(evaluate, step);
    sums[variable.capture][at] += of.gradient * slope.value;
    error.add(reference::square(of.ownScale * slope.value));
    together[{variable.capture, at}] += of.sharedScale * slope.value;
    if (!slope.isKnown && of.gradient != 0)
      error.forget();
  }
}

void CaptureGradients::finishRow() {
  for (const auto &[place, error] : together)
    errors[place.first][place.second].add(reference::square(error));
  together.clear();
}

std::vector<std::vector<double>> CaptureGradients::takeScales() {
  finishRow();
  std::vector<std::vector<double>> scales;
  for (const std::vector<reference::ErrorSum> &each : errors)
    scales.push_back(reference::getScales(each));
  return scales;
}

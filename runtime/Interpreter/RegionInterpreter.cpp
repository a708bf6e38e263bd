//===- RegionInterpreter.cpp - Evaluates score and mask regions -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/RegionInterpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace attn;
using namespace attn::interpreter;

FailureOr<RegionInterpreter> RegionInterpreter::create(mlir::Region &region) {
  mlir::Block &block = region.front();
  RegionInterpreter result;
  auto &numbers = result.numbers;
  auto number = [&](mlir::ValueRange values) {
    for (Value value : values) {
      numbers[value] = unsigned(result.values.size());
      result.values.push_back(Undefined());
    }
  };
  number(block.getArguments());
  for (Operation &op : block.without_terminator()) {
    Step step{&op,
              lookupEvaluator(&op),
              {},
              unsigned(result.values.size()),
              llvm::isa<mlir::arith::TruncFOp>(op)};
    if (!step.evaluate)
      return mlir::emitError(op.getLoc())
             << "cannot evaluate '" << op.getName() << "'";
    for (Value operand : op.getOperands())
      step.operands.push_back(numbers.lookup(operand));
    number(op.getResults());
    if (step.operands.empty()) // The same each time.
      (*step.evaluate)(&op, {},
                       llvm::MutableArrayRef(result.values)
                           .slice(step.firstResult, op.getNumResults()));
    else
      result.steps.push_back(std::move(step));
  }
  result.yielded = numbers.lookup(block.getTerminator()->getOperand(0));
  return result;
}

Datum RegionInterpreter::evaluate(ArrayRef<Datum> leading,
                                  ArrayRef<Datum> captures) {
  llvm::copy(leading, values.begin());
  llvm::copy(captures, values.begin() + leading.size());
  run(/*moved=*/0, /*distance=*/0.0, /*near=*/{});
  return values[yielded];
}

Datum RegionInterpreter::evaluate(llvm::ArrayRef<Datum> leading,
                                  llvm::ArrayRef<Datum> captures,
                                  const Roundings &near) {
  llvm::copy(leading, values.begin());
  llvm::copy(captures, values.begin() + leading.size());
  run(/*moved=*/0, /*distance=*/0.0, near);
  return values[yielded];
}

Datum RegionInterpreter::evaluate(llvm::ArrayRef<Datum> leading,
                                  llvm::ArrayRef<Datum> captures,
                                  mlir::Value moved, double distance,
                                  const Roundings &near) {
  llvm::copy(leading, values.begin());
  llvm::copy(captures, values.begin() + leading.size());
  unsigned number = numbers.lookup(moved);
  if (llvm::isa<mlir::BlockArgument>(moved))
    std::get<double>(values[number]) += distance;
  run(number, distance, near);
  return values[yielded];
}

Roundings RegionInterpreter::getRoundings() const {
  Roundings roundings;
  for (const Step &step : steps) {
    if (!step.rounds)
      continue;
    const auto *from = std::get_if<double>(&values[step.operands.front()]),
               *to = std::get_if<double>(&values[step.firstResult]);
    // Of what is infinite or no number there is no difference.
    double added = from && to ? *to - *from : 0;
    roundings.push_back(std::isnan(added) ? 0 : added);
  }
  return roundings;
}

/// Evaluates all steps; what one of them gives is moved. Those that round add
/// what is in `near`, if something is.
void RegionInterpreter::run(unsigned moved, double distance,
                            const Roundings &near) {
  SmallVector<Datum, 4> operands;
  auto rounding = near.begin();
  for (const Step &step : steps) {
    operands.clear();
    for (unsigned operand : step.operands)
      operands.push_back(values[operand]);
    (*step.evaluate)(step.op, operands,
                     llvm::MutableArrayRef(values).slice(
                         step.firstResult, step.op->getNumResults()));
    if (step.rounds && !near.empty()) {
      double added = *rounding++;
      if (const double *from = std::get_if<double>(&operands.front()))
        values[step.firstResult] = *from + added;
    }
    if (distance != 0 && moved == step.firstResult)
      if (double *value = std::get_if<double>(&values[moved]))
        *value += distance;
  }
}

FailureOr<decltype(reference::AttentionProblem::score)>
interpreter::createScore(mlir::Region &region, std::vector<Datum> captures,
                         std::shared_ptr<ScoreRoundings> roundings) {
  FailureOr<RegionInterpreter> interpreter = RegionInterpreter::create(region);
  if (failed(interpreter))
    return failure();
  return decltype(reference::AttentionProblem::score)(
      [interpreter = *interpreter, captures = std::move(captures),
       roundings = std::move(roundings)](
          double s, std::int64_t b, std::int64_t h, std::int64_t p,
          std::int64_t j) mutable -> std::optional<double> {
        std::vector<Datum> leading = {s, makeIndex(b), makeIndex(h),
                                      makeIndex(p), makeIndex(j)};
        Roundings *near = roundings ? &(*roundings)[{b, h, p, j}] : nullptr;
        Datum score = near ? interpreter.evaluate(leading, captures, *near)
                           : interpreter.evaluate(leading, captures);
        if (near && near->empty())
          *near = interpreter.getRoundings();
        if (const double *value = std::get_if<double>(&score))
          return *value;
        return std::nullopt;
      });
}

FailureOr<decltype(reference::AttentionProblem::mask)>
interpreter::createMask(mlir::Region &region, std::vector<Datum> captures) {
  FailureOr<RegionInterpreter> interpreter = RegionInterpreter::create(region);
  if (failed(interpreter))
    return failure();
  return decltype(reference::AttentionProblem::mask)(
      [interpreter = *interpreter, captures = std::move(captures)](
          std::int64_t b, std::int64_t h, std::int64_t p,
          std::int64_t j) mutable -> std::optional<bool> {
        Datum keep = interpreter.evaluate(
            {makeIndex(b), makeIndex(h), makeIndex(p), makeIndex(j)}, captures);
        if (const APInt *value = std::get_if<APInt>(&keep))
          return value->isOne();
        return std::nullopt;
      });
}

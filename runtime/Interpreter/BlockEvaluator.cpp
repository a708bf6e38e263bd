//===- BlockEvaluator.cpp - Evaluates operations in blocks ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/BlockEvaluator.h"
#include "runtime/Interpreter/TensorOperations.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"

using namespace attn;
using namespace attn::interpreter;
using TensorPtr = std::shared_ptr<const Tensor>;

const Datum &BlockEvaluator::get(Value value) const { return values.at(value); }

std::int64_t BlockEvaluator::getInteger(Value value) const {
  return toInt64(std::get<APInt>(get(value)));
}

const Tensor &BlockEvaluator::getTensor(Value value) const {
  return *std::get<TensorPtr>(get(value));
}

void BlockEvaluator::define(mlir::ValueRange results, ArrayRef<Datum> data) {
  for (auto [result, datum] : llvm::zip_equal(results, data))
    values[result] = datum;
}

//===----------------------------------------------------------------------===//
// Functions and blocks
//===----------------------------------------------------------------------===//

FailureOr<std::vector<Datum>> BlockEvaluator::call(mlir::func::FuncOp function,
                                                   ArrayRef<Datum> arguments) {
  if (function.isExternal())
    return mlir::emitError(function.getLoc())
           << "function '" << function.getName() << "' has no body";
  if (!active.insert(function).second)
    return mlir::emitError(function.getLoc())
           << "function '" << function.getName() << "' calls itself";
  FailureOr<std::vector<Datum>> results = yield(function.getBody(), arguments);
  active.erase(function);
  return results;
}

LogicalResult BlockEvaluator::countIteration(Operation *op) {
  if (++iterations > maxIterations)
    return mlir::emitError(op->getLoc()) << "loops have had " << maxIterations
                                         << " iterations, which is the limit";
  return success();
}

FailureOr<std::vector<Datum>> BlockEvaluator::yield(mlir::Region &region,
                                                    ArrayRef<Datum> arguments) {
  FailureOr<Operation *> terminator = run(region, arguments);
  if (failed(terminator))
    return failure();
  return get((*terminator)->getOperands());
}

namespace {
/// Where a branch goes.
struct Target {
  mlir::Block *block;
  mlir::ValueRange operands;
};
} // namespace

static std::optional<Target> follow(Operation *op,
                                    const BlockEvaluator &blocks) {
  if (auto branch = llvm::dyn_cast<mlir::cf::BranchOp>(op))
    return Target{branch.getDest(), branch.getDestOperands()};
  if (auto branch = llvm::dyn_cast<mlir::cf::CondBranchOp>(op)) {
    if (blocks.getInteger(branch.getCondition()))
      return Target{branch.getTrueDest(), branch.getTrueDestOperands()};
    return Target{branch.getFalseDest(), branch.getFalseDestOperands()};
  }
  auto branch = llvm::dyn_cast<mlir::cf::SwitchOp>(op);
  if (!branch)
    return std::nullopt;
  const auto &flag = std::get<APInt>(blocks.get(branch.getFlag()));
  if (auto cases = branch.getCaseValues())
    for (auto [number, value] : llvm::enumerate(cases->getValues<APInt>()))
      if (value == flag)
        return Target{branch.getCaseDestinations()[unsigned(number)],
                      branch.getCaseOperands(unsigned(number))};
  return Target{branch.getDefaultDestination(), branch.getDefaultOperands()};
}

FailureOr<Operation *> BlockEvaluator::run(mlir::Region &region,
                                           ArrayRef<Datum> arguments) {
  mlir::Block *block = &region.front();
  define(block->getArguments(), arguments);
  while (true) {
    for (Operation &op : block->without_terminator())
      if (failed(evaluate(&op)))
        return failure();
    std::optional<Target> target = follow(block->getTerminator(), *this);
    if (!target)
      return block->getTerminator();
    if (failed(countIteration(block->getTerminator())))
      return failure();
    define(target->block->getArguments(), get(target->operands));
    block = target->block;
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult checkDefined(Operation *op, ArrayRef<Datum> results) {
  for (const Datum &result : results)
    if (std::holds_alternative<Undefined>(result))
      return mlir::emitError(op->getLoc())
             << "'" << op->getName() << "' has no result for its operands";
  return success();
}

LogicalResult BlockEvaluator::evaluate(Operation *op,
                                       const Evaluator &compute) {
  SmallVector<Datum, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  SmallVector<Datum, 2> results(op->getNumResults());
  compute(op, operands, results);
  define(op->getResults(), results);
  return checkDefined(op, results);
}

/// Applies an operation of scalars to the elements of tensors. Operands that
/// are none are the same for all.
LogicalResult BlockEvaluator::evaluateElements(Operation *op,
                                               const Evaluator &compute) {
  std::vector<Datum> whole = get(op->getOperands());
  const Tensor *first = nullptr;
  for (const Datum &datum : whole)
    if (const TensorPtr *tensor = std::get_if<TensorPtr>(&datum)) {
      if (first && first->shape() != (*tensor)->shape())
        return mlir::emitError(op->getLoc())
               << "'" << op->getName() << "' has operands of different sizes";
      first = tensor->get();
    }
  std::vector<std::vector<Datum>> elements(op->getNumResults());
  std::vector<Datum> operands(whole), results(op->getNumResults());
  bool isDefined =
      countElements(first->shape()) &&
      visitIndices(first->shape(), [&](ArrayRef<std::int64_t> index) {
        for (auto [operand, datum] : llvm::zip_equal(operands, whole))
          if (const TensorPtr *tensor = std::get_if<TensorPtr>(&datum))
            operand = (*tensor)->load(index);
        compute(op, operands, results);
        for (auto [list, result] : llvm::zip_equal(elements, results))
          list.push_back(result);
        return llvm::none_of(results, [](const Datum &result) {
          return std::holds_alternative<Undefined>(result);
        });
      });
  if (!isDefined)
    return checkDefined(op, {Undefined()});
  for (auto [result, list] : llvm::zip_equal(op->getResults(), elements))
    values[result] = Tensor::createPartial(mlir::getElementTypeOrSelf(result),
                                           first->shape(), list);
  return success();
}

LogicalResult BlockEvaluator::evaluate(Operation *op) {
  if (const Evaluator *compute = evaluators.lookup(op))
    return isElementwise(op) ? evaluateElements(op, *compute)
                             : evaluate(op, *compute);
  if (auto handled = handler(op, values))
    return *handled;
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
    auto callee =
        mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(
            op, call.getCalleeAttr());
    FailureOr<std::vector<Datum>> results =
        this->call(callee, get(op->getOperands()));
    if (failed(results))
      return failure();
    define(op->getResults(), *results);
    return success();
  }
  for (Value result : op->getResults())
    if (!isSupported(result.getType()))
      return mlir::emitError(op->getLoc())
             << "cannot evaluate a value of type " << result.getType();
  for (auto evaluateWithRegions : {evaluateControlFlow, evaluateStructured})
    if (auto evaluated = evaluateWithRegions(op, *this))
      return *evaluated;
  evaluators[op] = lookupEvaluator(op);
  if (!evaluators[op])
    return mlir::emitError(op->getLoc())
           << "cannot evaluate '" << op->getName() << "'";
  return evaluate(op);
}

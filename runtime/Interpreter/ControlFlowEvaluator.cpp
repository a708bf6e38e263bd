//===- ControlFlowEvaluator.cpp - Evaluates loops and branches ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/BlockEvaluator.h"
#include "runtime/Interpreter/TensorOperations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace attn;
using namespace attn::interpreter;

namespace {

class ControlFlowEvaluator {
public:
  explicit ControlFlowEvaluator(BlockEvaluator &blocks) : blocks(blocks) {}

  LogicalResult evaluate(mlir::scf::ForOp op) {
    APInt position = number(op.getLowerBound()),
          end = number(op.getUpperBound());
    const APInt step = number(op.getStep());
    bool isUnsigned = op.getUnsignedCmp();
    if (step.isZero() || (!isUnsigned && step.isNegative()))
      return emitStep(op, step);
    std::vector<Datum> carried = blocks.get(op.getInitArgs());
    bool overflows = false;
    while (!overflows && (isUnsigned ? position.ult(end) : position.slt(end))) {
      if (failed(blocks.countIteration(op)))
        return failure();
      std::vector<Datum> arguments = {position};
      llvm::append_range(arguments, carried);
      FailureOr<std::vector<Datum>> next =
          blocks.yield(op.getRegion(), arguments);
      if (failed(next))
        return failure();
      carried = std::move(*next);
      position = isUnsigned ? position.uadd_ov(step, overflows)
                            : position.sadd_ov(step, overflows);
    }
    blocks.define(op.getResults(), carried);
    return success();
  }

  LogicalResult evaluate(mlir::scf::WhileOp op) {
    std::vector<Datum> carried = blocks.get(op.getInits());
    while (true) {
      if (failed(blocks.countIteration(op)))
        return failure();
      FailureOr<Operation *> end = blocks.run(op.getBefore(), carried);
      if (failed(end))
        return failure();
      auto condition = llvm::cast<mlir::scf::ConditionOp>(*end);
      std::vector<Datum> passed = blocks.get(condition.getArgs());
      if (!blocks.getInteger(condition.getCondition())) {
        blocks.define(op.getResults(), passed);
        return success();
      }
      FailureOr<std::vector<Datum>> next = blocks.yield(op.getAfter(), passed);
      if (failed(next))
        return failure();
      carried = std::move(*next);
    }
  }

  LogicalResult evaluate(mlir::scf::IfOp op) {
    mlir::Region &region = blocks.getInteger(op.getCondition())
                               ? op.getThenRegion()
                               : op.getElseRegion();
    return region.empty() ? success() : evaluateRegion(op, region);
  }

  LogicalResult evaluate(mlir::scf::IndexSwitchOp op) {
    std::int64_t chosen = blocks.getInteger(op.getArg());
    for (auto [value, region] : llvm::zip(op.getCases(), op.getCaseRegions()))
      if (value == chosen)
        return evaluateRegion(op, region);
    return evaluateRegion(op, op.getDefaultRegion());
  }

  LogicalResult evaluate(mlir::scf::ExecuteRegionOp op) {
    return evaluateRegion(op, op.getRegion());
  }

  /// One iteration after the other, each of which adds to what was reduced.
  LogicalResult evaluate(mlir::scf::ParallelOp op) {
    std::vector<Datum> carried = blocks.get(op.getInitVals());
    SmallVector<std::int64_t> starts, steps, counts;
    for (auto [lower, upper, by] :
         llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
      std::int64_t step = blocks.getInteger(by);
      if (step <= 0)
        return emitStep(op, number(by));
      starts.push_back(blocks.getInteger(lower));
      steps.push_back(step);
      std::int64_t end = blocks.getInteger(upper);
      counts.push_back(end <= starts.back()
                           ? 0
                           : std::int64_t((std::uint64_t(end) -
                                           std::uint64_t(starts.back()) - 1) /
                                          std::uint64_t(step)) +
                                 1);
    }
    bool isDone = visitIndices(counts, [&](ArrayRef<std::int64_t> index) {
      if (failed(blocks.countIteration(op)))
        return false;
      std::vector<Datum> position;
      for (auto [start, step, i] : llvm::zip(starts, steps, index))
        position.push_back(APInt(64, std::uint64_t(start + i * step)));
      FailureOr<Operation *> end = blocks.run(op.getRegion(), position);
      return succeeded(end) &&
             succeeded(reduce(llvm::cast<mlir::scf::ReduceOp>(*end), carried));
    });
    blocks.define(op.getResults(), carried);
    return success(isDone);
  }

private:
  APInt number(Value value) { return std::get<APInt>(blocks.get(value)); }

  static LogicalResult emitStep(Operation *op, const APInt &step) {
    return mlir::emitError(op->getLoc())
           << "'" << op->getName() << "' has a step of " << step.getSExtValue()
           << ", expected at least 1";
  }

  LogicalResult evaluateRegion(Operation *op, mlir::Region &region) {
    FailureOr<std::vector<Datum>> results = blocks.yield(region, {});
    if (failed(results))
      return failure();
    blocks.define(op->getResults(), *results);
    return success();
  }

  LogicalResult reduce(mlir::scf::ReduceOp op, std::vector<Datum> &carried) {
    std::vector<Datum> operands = blocks.get(op.getOperands());
    for (auto [region, operand, sum] :
         llvm::zip_equal(op.getReductions(), operands, carried)) {
      FailureOr<std::vector<Datum>> next = blocks.yield(region, {sum, operand});
      if (failed(next))
        return failure();
      sum = next->front();
    }
    return success();
  }

  BlockEvaluator &blocks;
};

} // namespace

std::optional<LogicalResult>
interpreter::evaluateControlFlow(Operation *op, BlockEvaluator &blocks) {
  return llvm::TypeSwitch<Operation *, std::optional<LogicalResult>>(op)
      .Case<mlir::scf::ForOp, mlir::scf::WhileOp, mlir::scf::IfOp,
            mlir::scf::IndexSwitchOp, mlir::scf::ExecuteRegionOp,
            mlir::scf::ParallelOp>([&](auto control) {
        return ControlFlowEvaluator(blocks).evaluate(control);
      })
      .Default(std::nullopt);
}

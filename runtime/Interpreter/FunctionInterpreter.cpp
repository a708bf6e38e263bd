//===- FunctionInterpreter.cpp - Evaluates a kernel's function ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/FunctionInterpreter.h"
#include "runtime/Interpreter/AttentionEvaluator.h"
#include "runtime/Interpreter/CacheEvaluator.h"
#include "runtime/Interpreter/Operations.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::interpreter;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;
using TensorPtr = std::shared_ptr<const Tensor>;

static void define(Values &values, mlir::ValueRange results,
                   llvm::ArrayRef<Datum> data) {
  for (auto [result, datum] : llvm::zip_equal(results, data))
    values[result] = datum;
}

/// Gives the table. What its ranges are makes no difference.
static LogicalResult evaluateWithBlockRange(mlir::attn::WithBlockRangeOp op,
                                            Values &values) {
  Datum table = values.at(op.getTable());
  const TensorView &elements = std::get<TensorPtr>(table)->view;
  const TensorView &ranges =
      std::get<TensorPtr>(values.at(op.getRanges()))->view;
  for (auto [dim, block] : llvm::enumerate(op.getBlocks())) {
    std::int64_t expected =
        llvm::divideCeilSigned(elements.size(int(dim)), block);
    if (std::int64_t count = ranges.size(int(dim) + 1); count != expected)
      return op.emitError() << "operand 'ranges': dimension " << dim + 1
                            << " is " << count << ", expected " << expected;
  }
  values[op.getResult()] = table;
  return success();
}

/// Of no attention.
static LogicalResult evaluateOp(mlir::Operation *op, Values &values) {
  if (auto summarized = llvm::dyn_cast<mlir::attn::WithBlockRangeOp>(op))
    return evaluateWithBlockRange(summarized, values);
  if (auto assertion = llvm::dyn_cast<mlir::cf::AssertOp>(op)) {
    if (std::get<llvm::APInt>(values.at(assertion.getArg())).isZero())
      return assertion.emitError(assertion.getMsg());
    return success();
  }
  if (auto results =
          evaluateBesideAttention(op, lookup(values, op->getOperands()))) {
    if (failed(*results))
      return failure();
    define(values, op->getResults(), **results);
    return success();
  }
  const Evaluator *evaluate = lookupEvaluator(op);
  if (!evaluate)
    return mlir::emitError(op->getLoc())
           << "cannot evaluate '" << op->getName() << "'";
  std::vector<Datum> results(op->getNumResults());
  (*evaluate)(op, lookup(values, op->getOperands()), results);
  for (const Datum &result : results)
    if (std::holds_alternative<Undefined>(result))
      return mlir::emitError(op->getLoc())
             << "'" << op->getName() << "' has no result for its operands";
  define(values, op->getResults(), results);
  return success();
}

/// `handleAttention` says what becomes of an attention.
static mlir::FailureOr<std::vector<Datum>>
runFunction(mlir::func::FuncOp function, llvm::ArrayRef<Datum> arguments,
            llvm::function_ref<LogicalResult(mlir::Operation *, Values &)>
                handleAttention) {
  Values values;
  define(values, function.getArguments(), arguments);
  for (mlir::Operation &op : function.getBody().front()) {
    if (llvm::isa<mlir::func::ReturnOp>(op))
      return lookup(values, op.getOperands());
    if (failed(isAttention(&op) ? handleAttention(&op, values)
                                : evaluateOp(&op, values)))
      return failure();
  }
  // Another terminator is nothing that evaluateOp knows.
  llvm_unreachable("a block without terminator");
}

mlir::FailureOr<std::vector<Datum>>
interpreter::evaluateFunction(mlir::func::FuncOp function,
                              llvm::ArrayRef<Datum> arguments) {
  return runFunction(function, arguments, evaluateAttention);
}

mlir::FailureOr<double>
interpreter::countDenseFlops(mlir::func::FuncOp function,
                             llvm::ArrayRef<Datum> arguments) {
  double flops = 0;
  if (failed(runFunction(function, arguments,
                         [&](mlir::Operation *op, Values &values) {
                           return countAttention(op, values, flops);
                         })))
    return failure();
  return flops;
}

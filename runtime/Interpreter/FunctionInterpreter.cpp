//===- FunctionInterpreter.cpp - Evaluates a kernel's function ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/FunctionInterpreter.h"
#include "runtime/Interpreter/BlockEvaluator.h"
#include "runtime/Interpreter/CacheEvaluator.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::interpreter;
using TensorPtr = std::shared_ptr<const Tensor>;

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

static LogicalResult evaluateAssert(mlir::cf::AssertOp op, Values &values) {
  if (std::get<APInt>(values.at(op.getArg())).isZero())
    return op.emitError(op.getMsg());
  return success();
}

/// What the reference lowering makes of a region may be a part of a function.
static LogicalResult evaluateReport(mlir::attn::ReportOp op, Values &values) {
  if (std::get<APInt>(values.at(op.getFailed())).isZero())
    return success();
  return op.emitError(op.getMessage()) << ": has no result";
}

/// Of attn, and what is a check; nothing for other operations.
static std::optional<LogicalResult> evaluateAttn(Operation *op,
                                                 Values &values) {
  if (isAttention(op))
    return evaluateAttention(op, values);
  if (auto summarized = llvm::dyn_cast<mlir::attn::WithBlockRangeOp>(op))
    return evaluateWithBlockRange(summarized, values);
  if (auto assertion = llvm::dyn_cast<mlir::cf::AssertOp>(op))
    return evaluateAssert(assertion, values);
  if (auto report = llvm::dyn_cast<mlir::attn::ReportOp>(op))
    return evaluateReport(report, values);
  auto results = evaluateBesideAttention(op, lookup(values, op->getOperands()));
  if (!results)
    return std::nullopt;
  if (failed(*results))
    return failure();
  for (auto [result, datum] : llvm::zip_equal(op->getResults(), **results))
    values[result] = datum;
  return success();
}

FailureOr<std::vector<Datum>>
interpreter::evaluateFunction(mlir::func::FuncOp function,
                              ArrayRef<Datum> arguments,
                              std::int64_t maxIterations) {
  return BlockEvaluator(evaluateAttn, maxIterations).call(function, arguments);
}

/// Floats are what sizes, lengths and offsets do not depend on.
static bool hasOnlyFloats(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
  });
}

FailureOr<double> interpreter::countDenseFlops(mlir::func::FuncOp function,
                                               ArrayRef<Datum> arguments) {
  double flops = 0;
  auto count = [&](Operation *op,
                   Values &values) -> std::optional<LogicalResult> {
    if (isAttention(op))
      return countAttention(op, values, flops);
    auto written = llvm::dyn_cast<mlir::DestinationStyleOpInterface>(op);
    if (!written || !written.hasPureTensorSemantics() || !hasOnlyFloats(op))
      return evaluateAttn(op, values);
    for (auto [result, init] :
         llvm::zip_equal(op->getResults(), written.getDpsInits())) {
      const Tensor &tensor = *std::get<TensorPtr>(values.at(init));
      values[result] =
          Tensor::createUnknown(tensor.elementType, tensor.shape());
    }
    return success();
  };
  if (failed(BlockEvaluator(count).call(function, arguments)))
    return failure();
  return flops;
}

//===- BlockEvaluator.h - Evaluates operations in blocks --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_BLOCKEVALUATOR_H
#define ATTN_RUNTIME_INTERPRETER_BLOCKEVALUATOR_H

#include "runtime/Interpreter/AttentionEvaluator.h"
#include "runtime/Interpreter/Operations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <functional>
#include <limits>
#include <optional>

namespace attn::interpreter {

/// Evaluates a function, with the regions in it and what it calls.
class BlockEvaluator {
public:
  /// Does what others do not do, or do otherwise; nothing for the rest.
  using Handler =
      std::function<std::optional<LogicalResult>(Operation *, Values &)>;

  /// Gives up after `maxIterations` of loops, which may have no end.
  explicit BlockEvaluator(
      Handler handler,
      std::int64_t maxIterations = std::numeric_limits<std::int64_t>::max())
      : handler(std::move(handler)), maxIterations(maxIterations) {}

  /// What a function returns.
  FailureOr<std::vector<Datum>> call(mlir::func::FuncOp function,
                                     ArrayRef<Datum> arguments);

  /// Evaluates a region from its first block on. Gives the terminator at which
  /// it ends.
  FailureOr<Operation *> run(mlir::Region &region, ArrayRef<Datum> arguments);

  /// The operands of that terminator.
  FailureOr<std::vector<Datum>> yield(mlir::Region &region,
                                      ArrayRef<Datum> arguments);

  /// Says that one more iteration of the loop that `op` is, or is in, begins.
  LogicalResult countIteration(Operation *op);

  const Datum &get(Value value) const;
  std::vector<Datum> get(mlir::ValueRange range) const {
    return lookup(values, range);
  }
  std::int64_t getInteger(Value value) const;
  const Tensor &getTensor(Value value) const;
  void define(mlir::ValueRange results, ArrayRef<Datum> data);

  /// Where the loops of the linalg op around the current block are.
  ArrayRef<std::int64_t> iteration;

private:
  LogicalResult evaluate(Operation *op);
  LogicalResult evaluate(Operation *op, const Evaluator &compute);
  LogicalResult evaluateElements(Operation *op, const Evaluator &compute);

  Handler handler;
  const std::int64_t maxIterations;
  std::int64_t iterations = 0; ///< That were begun.
  Values values;
  /// Of operations that have none of the other ways, which are looked up once.
  llvm::DenseMap<Operation *, const Evaluator *> evaluators;
  llvm::SmallPtrSet<Operation *, 4> active; ///< Functions.
};

/// Evaluates an operation of scf, with its regions; nothing for others.
std::optional<LogicalResult> evaluateControlFlow(Operation *op,
                                                 BlockEvaluator &blocks);

/// The same for an operation of linalg and those of tensors that have a region,
/// whose elements are computed one by one.
std::optional<LogicalResult> evaluateStructured(Operation *op,
                                                BlockEvaluator &blocks);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_BLOCKEVALUATOR_H

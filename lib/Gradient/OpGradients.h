//===- OpGradients.h - Gradients of single operations -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_OPGRADIENTS_H
#define ATTN_GRADIENT_OPGRADIENTS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::attn {

/// The gradient of some number with respect to results and operands of an
/// operation.
class OpGradients {
public:
  /// `ofResults` are null where it does not depend on a result; of the `active`
  /// values, which outlive this, a gradient is wanted.
  OpGradients(SmallVector<Value> ofResults, const DenseSet<Value> &active)
      : ofResults(std::move(ofResults)), active(active) {}

  Value getOfResult(unsigned number) const { return ofResults[number]; }
  /// Whether the operand's gradient is wanted.
  bool wants(OpOperand &operand) const { return wants(operand.get()); }
  bool wants(Value operand) const {
    return operand && active.contains(operand);
  }

  /// Says what the gradient with respect to an operand is.
  void set(Value operand, Value gradient) {
    ofOperands.push_back({operand, gradient});
  }
  /// An operand may have several parts, which are added.
  ArrayRef<std::pair<Value, Value>> getOfOperands() const { return ofOperands; }

private:
  SmallVector<Value> ofResults;
  const DenseSet<Value> &active;
  SmallVector<std::pair<Value, Value>> ofOperands;
};

/// Emits the gradients of the operands of `op` that are wanted. An error, with
/// the name of the operation, where it has none.
LogicalResult emitGradients(OpBuilder &builder, Operation *op,
                            OpGradients &gradients);

/// A tensor of zeros, of the type and the sizes of `like`.
Value emitZerosLike(OpBuilder &builder, Location loc, Value like);

} // namespace mlir::attn

#endif // ATTN_GRADIENT_OPGRADIENTS_H

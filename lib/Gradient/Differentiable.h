//===- Differentiable.h - What has derivatives ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_DIFFERENTIABLE_H
#define ATTN_GRADIENT_DIFFERENTIABLE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
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

/// How fast values move, each a value of the same type and sizes: those of
/// floats and tensors of floats that move at all.
class OpTangents {
public:
  /// Null where the value does not move, or is null.
  Value get(Value value) const {
    return value ? tangents.lookup(value) : Value();
  }
  /// Of a float or a tensor of floats; zeros where it does not move.
  Value getOrZeros(OpBuilder &builder, Value value) const;
  bool moves(Value value) const { return bool(get(value)); }

  void set(Value value, Value tangent) { tangents[value] = tangent; }

private:
  DenseMap<Value, Value> tangents;
};

/// Errors that say that an operation has none, and why if there is more to say.
LogicalResult refuseGradient(Operation *op, const Twine &why = {});
LogicalResult refuseTangent(Operation *op, const Twine &why = {});

/// Emits the tangents of all values of a block that move, each behind what it
/// is of. An error, with the name of the operation, where one has none.
LogicalResult emitTangentsOfBlock(OpBuilder &builder, Block &block,
                                  OpTangents &tangents);

/// A tensor of zeros, of the type and the sizes of `like`, or a 0.
Value emitZerosLike(OpBuilder &builder, Location loc, Value like);

/// Has `Differentiable` attached to the operations that come with Attn and
/// upstream.
void registerDifferentiableModels(DialectRegistry &registry);

} // namespace mlir::attn

#include "lib/Gradient/Differentiable.h.inc"

#endif // ATTN_GRADIENT_DIFFERENTIABLE_H

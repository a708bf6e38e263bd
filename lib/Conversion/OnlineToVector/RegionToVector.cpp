//===- RegionToVector.cpp - Regions as vector code of a tile --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/OnlineToVector/RegionToVector.h"
#include "lib/Transforms/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::broadcastTo(OpBuilder &b, Location loc, Value value,
                        ArrayRef<int64_t> shape) {
  auto from = dyn_cast<VectorType>(value.getType());
  if (from && from.getShape() == shape)
    return value;
  if (from && from.getRank() == 1 && shape.size() == 2)
    value = vector::ShapeCastOp::create(
        b, loc, VectorType::get({from.getDimSize(0), 1}, from.getElementType()),
        value);
  Type element = getElementTypeOrSelf(value.getType());
  auto type = VectorType::get(shape, element);
  if (value.getType() == type)
    return value;
  return vector::BroadcastOp::create(b, loc, type, value);
}

/// The smallest shape that all vectors of rank 2 in `values` broadcast to;
/// empty for scalars.
static SmallVector<int64_t> joinShapes(ValueRange values) {
  SmallVector<int64_t> shape;
  for (Value value : values) {
    auto type = dyn_cast<VectorType>(value.getType());
    if (!type)
      continue;
    if (shape.empty())
      shape = llvm::to_vector(type.getShape());
    for (auto [size, other] : llvm::zip_equal(shape, type.getShape()))
      size = std::max(size, other);
  }
  return shape;
}

FailureOr<Value> attn::vectorizeBody(OpBuilder &b, Block &body,
                                     ValueRange arguments) {
  IRMapping values;
  values.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookupOrDefault(operand));
    SmallVector<int64_t> shape = joinShapes(operands);
    if (!shape.empty()) {
      if (!OpTrait::hasElementwiseMappableTraits(&op) ||
          op.getNumResults() != 1)
        return op.emitOpError("has no form for vectors of a tile on a GPU");
      for (Value &operand : operands)
        operand = broadcastTo(b, op.getLoc(), operand, shape);
    }
    Operation *copy = b.clone(op, values);
    copy->setOperands(operands);
    if (!shape.empty())
      for (Value result : copy->getResults())
        result.setType(VectorType::get(shape, result.getType()));
    dropPromises(copy);
    values.map(op.getResults(), copy->getResults());
  }
  return values.lookupOrDefault(body.getTerminator()->getOperand(0));
}

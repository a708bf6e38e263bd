//===- ConvertedRows.cpp - Rows that are stored in another type -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/ConvertedRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

/// A number of f32, or one for each row, for all elements of `type`.
static Value broadcastScales(ImplicitLocOpBuilder &b, Value scales,
                             VectorType type) {
  if (auto rows = dyn_cast<VectorType>(scales.getType()))
    scales = vector::ShapeCastOp::create(
        b, VectorType::get({rows.getDimSize(0), 1}, rows.getElementType()),
        scales);
  return vector::BroadcastOp::create(b, type, scales);
}

/// The memory that `factor`, the second one of a product, has the scales of
/// rows from; null if it is something else.
static Value findScales(Value factor) {
  auto broadcast = factor.getDefiningOp<vector::BroadcastOp>();
  auto cast = broadcast
                  ? broadcast.getSource().getDefiningOp<vector::ShapeCastOp>()
                  : vector::ShapeCastOp();
  auto read = cast ? cast.getSource().getDefiningOp<vector::TransferReadOp>()
                   : vector::TransferReadOp();
  return read ? read.getBase() : Value();
}

Value attn::emitConvertedRows(ImplicitLocOpBuilder &b, Value elements,
                              Value scales, Type type) {
  auto shape = cast<VectorType>(elements.getType()).getShape();
  if (scales) {
    auto f32 = VectorType::get(shape, b.getF32Type());
    elements = arith::SIToFPOp::create(b, f32, elements);
    elements =
        arith::MulFOp::create(b, elements, broadcastScales(b, scales, f32));
  }
  unsigned from = getElementTypeOrSelf(elements).getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  auto vector = VectorType::get(shape, type);
  if (from < to)
    return arith::ExtFOp::create(b, vector, elements);
  if (from > to)
    return arith::TruncFOp::create(b, vector, elements);
  return elements;
}

ConvertedRows::ConvertedRows(vector::TransferReadOp read)
    : read(read), rows(read.getResult()) {
  while (rows.hasOneUse()) {
    Operation *user = *rows.user_begin();
    if (isa<arith::MulFOp>(user)) {
      scales = findScales(user->getOperand(1));
      if (!scales)
        return;
    } else if (!isa<arith::ExtFOp, arith::SIToFPOp, arith::TruncFOp>(user)) {
      return;
    }
    rows = user->getResult(0);
  }
}

void ConvertedRows::replaceWith(Value other) {
  rows.replaceAllUsesWith(other);
  SmallVector<Operation *> open = {rows.getDefiningOp()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!op || !isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      open.push_back(operand.getDefiningOp());
    op->erase();
  }
}

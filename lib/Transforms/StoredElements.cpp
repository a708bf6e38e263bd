//===- StoredElements.cpp - Stored keys and values as floats --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::emitElement(OpBuilder &b, Location loc, Value element, Value scale,
                        Type type) {
  if (scale) {
    Value number = arith::SIToFPOp::create(b, loc, scale.getType(), element);
    element = arith::MulFOp::create(b, loc, number, scale);
  }
  if (element.getType() == type)
    return element;
  if (element.getType().getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncFOp::create(b, loc, type, element);
  return arith::ExtFOp::create(b, loc, type, element);
}

Value attn::emitElements(OpBuilder &b, Location loc, Value elements,
                         Value scales, Value to) {
  Type type = cast<RankedTensorType>(to.getType()).getElementType();
  SmallVector<Value> inputs = {elements};
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(2));
  if (scales) {
    inputs.push_back(scales);
    maps.insert(maps.begin() + 1, AffineMap::get(2, 0, b.getAffineDimExpr(0)));
  }
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, to.getType(), inputs, to, maps, parallel,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value scale = scales ? arguments[1] : Value();
               linalg::YieldOp::create(
                   b, loc, emitElement(b, loc, arguments[0], scale, type));
             })
      .getResult(0);
}

std::optional<StoredElements> StoredElements::match(Value matrix) {
  auto op = matrix.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInits() != 1 || op.getNumDpsInputs() < 1 ||
      op.getNumDpsInputs() > 2 || op.getNumLoops() != 2 ||
      op.getNumParallelLoops() != 2 ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0)).isIdentity() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  // Of what emitElement emits, in this order.
  bool isQuantized = op.getNumDpsInputs() == 2;
  Block &body = *op.getBlock();
  Value element = body.getTerminator()->getOperand(0);
  if (Operation *conversion = element.getDefiningOp();
      isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(conversion))
    element = conversion->getOperand(0);
  if (isQuantized) {
    auto product = element.getDefiningOp<arith::MulFOp>();
    if (!product || product.getRhs() != body.getArgument(1))
      return std::nullopt;
    auto number = product.getLhs().getDefiningOp<arith::SIToFPOp>();
    if (!number ||
        op.getMatchingIndexingMap(op.getDpsInputOperand(1)) !=
            AffineMap::get(2, 0, getAffineDimExpr(0, op.getContext())))
      return std::nullopt;
    element = number.getIn();
  }
  if (element != body.getArgument(0))
    return std::nullopt;
  return StoredElements{op.getDpsInputOperand(0)->get(),
                        isQuantized ? op.getDpsInputOperand(1)->get()
                                    : Value()};
}

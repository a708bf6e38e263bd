//===- Sums.cpp - Sums over loops -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/Sums.h"
#include "lib/Online/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::emitSum(OpBuilder &b, Location loc, ValueRange inputs, Value init,
                    ArrayRef<ArrayRef<AffineExpr>> indices, SumBody body) {
  SmallVector<AffineMap> maps =
      AffineMap::inferFromExprList(indices, b.getContext());
  SmallVector<utils::IteratorType> iterators;
  for (unsigned loop = 0; loop < maps.back().getNumDims(); ++loop)
    iterators.push_back(maps.back().isFunctionOfDim(loop)
                            ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction);
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps,
                                   iterators, body)
      .getResult(0);
}

Value attn::emitSumOfProducts(OpBuilder &b, Location loc, ValueRange factors,
                              Value init,
                              ArrayRef<ArrayRef<AffineExpr>> indices) {
  Type type = cast<RankedTensorType>(init.getType()).getElementType();
  auto widen = [type](OpBuilder &b, Location loc, Value factor) -> Value {
    if (factor.getType() == type)
      return factor;
    if (isa<IntegerType>(type))
      return arith::ExtSIOp::create(b, loc, type, factor);
    if (isa<IntegerType>(factor.getType()))
      return arith::SIToFPOp::create(b, loc, type, factor);
    return arith::ExtFOp::create(b, loc, type, factor);
  };
  return emitSum(b, loc, factors, init, indices,
                 [&](OpBuilder &b, Location loc, ValueRange arguments) {
                   Value x = widen(b, loc, arguments[0]);
                   Value y = widen(b, loc, arguments[1]);
                   Value before = arguments[2], sum;
                   if (isa<IntegerType>(type))
                     sum = arith::AddIOp::create(
                         b, loc, before, arith::MulIOp::create(b, loc, x, y));
                   else
                     sum = arith::AddFOp::create(
                         b, loc, before, arith::MulFOp::create(b, loc, x, y));
                   linalg::YieldOp::create(b, loc, sum);
                 });
}

Value attn::emitVisibleSum(OpBuilder &b, Location loc, ValueRange inputs,
                           Value init, ArrayRef<ArrayRef<AffineExpr>> indices) {
  Type type = getElementTypeOrSelf(init.getType());
  unsigned bits = type.getIntOrFloatBitWidth();
  return emitSum(
      b, loc, inputs, init, indices,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value pattern = arith::BitcastOp::create(b, loc, b.getIntegerType(bits),
                                                 arguments[1]);
        Value hiddenPattern = arith::ConstantOp::create(
            b, loc,
            b.getIntegerAttr(b.getIntegerType(bits), APInt::getSignMask(bits)));
        Value isHidden = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                               pattern, hiddenPattern);
        Value value = arguments[0], before = arguments.back();
        if (value.getType() != type)
          value =
              emitElement(b, loc, value,
                          arguments.size() > 3 ? arguments[2] : Value(), type);
        Value product = arith::MulFOp::create(b, loc, value, arguments[1]);
        Value sum = arith::AddFOp::create(b, loc, before, product);
        Value result = arith::SelectOp::create(b, loc, isHidden, before, sum);
        linalg::YieldOp::create(b, loc, result);
      });
}

Value attn::emitProduct(OpBuilder &b, Location loc, Value matrix, Value factors,
                        AffineExpr dimension) {
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, matrix.getType(), factors, matrix,
             {AffineMap::get(2, 0, dimension), b.getMultiDimIdentityMap(2)},
             parallel,
             [](OpBuilder &b, Location loc, ValueRange arguments) {
               Value product =
                   arith::MulFOp::create(b, loc, arguments[0], arguments[1]);
               linalg::YieldOp::create(b, loc, product);
             })
      .getResult(0);
}

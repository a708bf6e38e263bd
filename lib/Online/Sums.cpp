//===- Sums.cpp - Sums over loops -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/Sums.h"
#include "dialect/Shared/CreateGeneric.h"
#include "lib/Online/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::emitSumOfProducts(OpBuilder &b, Location loc, ValueRange factors,
                              Value init,
                              ArrayRef<ArrayRef<AffineExpr>> indices) {
  Type type = cast<RankedTensorType>(init.getType()).getElementType();
  auto widen = [&](Value factor) -> Value {
    if (factor.getType() == type)
      return factor;
    if (isa<IntegerType>(type))
      return arith::ExtSIOp::create(b, loc, type, factor);
    if (isa<IntegerType>(factor.getType()))
      return arith::SIToFPOp::create(b, loc, type, factor);
    return arith::ExtFOp::create(b, loc, type, factor);
  };
  return createGeneric(
      b, loc, factors, init, indices, [&](ValueRange e) -> Value {
        Value x = widen(e[0]), y = widen(e[1]);
        if (isa<IntegerType>(type))
          return arith::AddIOp::create(b, loc, e[2],
                                       arith::MulIOp::create(b, loc, x, y));
        return arith::AddFOp::create(b, loc, e[2],
                                     arith::MulFOp::create(b, loc, x, y));
      });
}

Value attn::emitVisibleSum(OpBuilder &b, Location loc, ValueRange inputs,
                           Value init, ArrayRef<ArrayRef<AffineExpr>> indices) {
  Type type = getElementTypeOrSelf(init.getType());
  unsigned bits = type.getIntOrFloatBitWidth();
  return createGeneric(
      b, loc, inputs, init, indices, [&](ValueRange arguments) -> Value {
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
        return arith::SelectOp::create(b, loc, isHidden, before, sum);
      });
}

Value attn::emitProduct(OpBuilder &b, Location loc, Value matrix, Value factors,
                        AffineExpr dimension) {
  return createGeneric(
      b, loc, factors, matrix,
      {AffineMap::get(2, 0, dimension), b.getMultiDimIdentityMap(2)},
      [&](ValueRange e) -> Value {
        return arith::MulFOp::create(b, loc, e[0], e[1]);
      });
}

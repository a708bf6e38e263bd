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
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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

//===----------------------------------------------------------------------===//
// Sums that begin at zero
//===----------------------------------------------------------------------===//

Value attn::emitZerosIf(OpBuilder &b, Location loc, Value isFirst, Value tensor,
                        function_ref<Value(OpBuilder &)> other) {
  if (!isFirst)
    return other(b);
  return scf::IfOp::create(
             b, loc, isFirst,
             [&](OpBuilder &b, Location loc) {
               Value zero = arith::ConstantOp::create(
                   b, loc,
                   b.getZeroAttr(cast<RankedTensorType>(tensor.getType())
                                     .getElementType()));
               scf::YieldOp::create(
                   b, loc,
                   linalg::FillOp::create(b, loc, zero, tensor).getResults());
             },
             [&](OpBuilder &b, Location loc) {
               scf::YieldOp::create(b, loc, other(b));
             })
      .getResult(0);
}

/// Whether an element of a vector is not 1, an i1.
static Value emitIsNotOnes(OpBuilder &b, Location loc, Value vector) {
  Type i32 = b.getI32Type();
  Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value none = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{1}, i32);
  none = linalg::FillOp::create(b, loc, zero, none).getResult(0);
  Value any = createGeneric(
      b, loc, vector, none,
      {AffineMap::get(2, 0, b.getAffineDimExpr(1)),
       AffineMap::get(2, 0, b.getAffineDimExpr(0))},
      [&](ValueRange e) -> Value {
        Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0));
        Value differs =
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, e[0], one);
        differs = arith::ExtUIOp::create(b, loc, i32, differs);
        return arith::OrIOp::create(b, loc, e[1], differs);
      });
  Value first = arith::ConstantIndexOp::create(b, loc, 0);
  Value word = tensor::ExtractOp::create(b, loc, any, first);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, word, zero);
}

Value attn::emitUnlessOnes(OpBuilder &b, Location loc, Value factors,
                           Value tensor,
                           function_ref<Value(OpBuilder &)> other) {
  return scf::IfOp::create(
             b, loc, emitIsNotOnes(b, loc, factors),
             [&](OpBuilder &b, Location loc) {
               scf::YieldOp::create(b, loc, other(b));
             },
             [&](OpBuilder &b, Location loc) {
               scf::YieldOp::create(b, loc, tensor);
             })
      .getResult(0);
}

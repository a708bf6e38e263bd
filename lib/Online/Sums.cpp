//===- Sums.cpp - Sums over loops -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/Sums.h"
#include "dialect/Shared/CreateGeneric.h"
#include "lib/Online/StoredElements.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::emitSumOfProducts(IndexBuilder &b, ValueRange factors, Value init,
                              ArrayRef<ArrayRef<AffineExpr>> indices) {
  Type type = cast<RankedTensorType>(init.getType()).getElementType();
  return b.generic(factors, init, indices, [&](ValueRange e) -> Value {
    Value x = b.convert(e[0], type), y = b.convert(e[1], type);
    if (isa<IntegerType>(type))
      return b.add(e[2], b.mul(x, y));
    return b.addF(e[2], b.mulF(x, y));
  });
}

Value attn::emitVisibleSum(IndexBuilder &b, ValueRange inputs, Value init,
                           ArrayRef<ArrayRef<AffineExpr>> indices) {
  Type type = getElementTypeOrSelf(init.getType());
  unsigned bits = type.getIntOrFloatBitWidth();
  return b.generic(inputs, init, indices, [&](ValueRange arguments) -> Value {
    Value pattern =
        arith::BitcastOp::create(b, b.getIntegerType(bits), arguments[1]);
    Value hiddenPattern = arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getIntegerType(bits), APInt::getSignMask(bits)));
    Value isHidden = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, pattern,
                                           hiddenPattern);
    Value value = arguments[0], before = arguments.back();
    if (value.getType() != type)
      value = emitElement(b, value,
                          arguments.size() > 3 ? arguments[2] : Value(), type);
    Value sum = b.addF(before, b.mulF(value, arguments[1]));
    return b.select(isHidden, before, sum);
  });
}

Value attn::emitProduct(IndexBuilder &b, Value matrix, Value factors,
                        AffineExpr dimension) {
  return b.generic(
      factors, matrix,
      {AffineMap::get(2, 0, dimension), b.getMultiDimIdentityMap(2)},
      [&](ValueRange e) { return b.mulF(e[0], e[1]); });
}

//===----------------------------------------------------------------------===//
// Sums that begin at zero
//===----------------------------------------------------------------------===//

Value attn::emitZerosIf(IndexBuilder &b, Value isFirst, Value tensor,
                        function_ref<Value()> other) {
  if (!isFirst)
    return other();
  return b.choose(isFirst, [&] { return b.fillWithZero(tensor); }, other);
}

/// Whether an element of a vector is not 1, an i1.
static Value emitIsNotOnes(IndexBuilder &b, Value vector) {
  Type i32 = b.getI32Type();
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value none = b.empty(ArrayRef<int64_t>{1}, i32);
  none = b.fill(none, zero);
  Value any = b.generic(
      vector, none,
      {AffineMap::get(2, 0, b.getAffineDimExpr(1)),
       AffineMap::get(2, 0, b.getAffineDimExpr(0))},
      [&](ValueRange e) -> Value {
        Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1.0));
        Value differs =
            arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, e[0], one);
        differs = arith::ExtUIOp::create(b, i32, differs);
        return arith::OrIOp::create(b, e[1], differs);
      });
  Value word = b.load(any, b.index(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, zero);
}

Value attn::emitUnlessOnes(IndexBuilder &b, Value factors, Value tensor,
                           function_ref<Value()> other) {
  return b.choose(emitIsNotOnes(b, factors), other, [&] { return tensor; });
}

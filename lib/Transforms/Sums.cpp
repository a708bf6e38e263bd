//===- Sums.cpp - Sums over loops -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/Sums.h"

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

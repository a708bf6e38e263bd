//===- CreateGeneric.cpp - Operations on elements of tensors --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/CreateGeneric.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

Value attn::createGeneric(OpBuilder &b, Location loc, ValueRange inputs,
                          Value init, ArrayRef<AffineMap> maps,
                          ElementBody body) {
  SmallVector<utils::IteratorType> iterators;
  for (unsigned loop = 0; loop < maps.back().getNumDims(); ++loop)
    iterators.push_back(maps.back().isFunctionOfDim(loop)
                            ? utils::IteratorType::parallel
                            : utils::IteratorType::reduction);
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &, Location, ValueRange elements) {
               linalg::YieldOp::create(b, loc, body(elements));
             })
      .getResult(0);
}

Value attn::createGeneric(OpBuilder &b, Location loc, ValueRange inputs,
                          Value init, ArrayRef<ArrayRef<AffineExpr>> indices,
                          ElementBody body) {
  SmallVector<AffineMap> maps =
      AffineMap::inferFromExprList(indices, b.getContext());
  return createGeneric(b, loc, inputs, init, maps, body);
}

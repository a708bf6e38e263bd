//===- ProjectionProducts.cpp - Products of a projection's tiles ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/CreateGeneric.h"
#include "lib/Online/OnlineInPairs.h"
#include "lib/Online/Sums.h"
#include "lib/Projection/ProjectionTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

Value ProjectionTiles::add(Value part, Value sums) {
  AffineMap map = b.getMultiDimIdentityMap(2);
  return b.generic(part, sums, {map, map},
                   [&](ValueRange e) -> Value { return b.addF(e[1], e[0]); });
}

Value ProjectionTiles::multiplyFew(Value columns, OpFoldResult at,
                                   int64_t count, Value sums, bool isOnly) {
  OpFoldResult zero = index(0),
               k = index(count * (numFeatures / getNumSteps()));
  AffineExpr m, n, l, p, e;
  OpFoldResult box[] = {numRows, k};
  OpFoldResult corner[] = {
      zero,
      inPairs ? apply(b.getAffineDimExpr(0) * kFeaturesPerTile, {at}) : at};
  Value part = b.slice(rows, corner, box, box);
  Value products =
      b.fillWithZero(isOnly ? sums : b.empty(b.sizes(sums), b.getF32Type()));
  if (inPairs) {
    bindDims(b.getContext(), m, n, l, p, e);
    Value pairs = expandDim(b, part, 1, {kFeaturesPerTile / 2, 2});
    products = emitSumOfProducts(b, {pairs, columns}, products,
                                 {{m, l, p, e}, {l, p, n, e}, {m, n}});
  } else {
    bindDims(b.getContext(), m, n, l);
    products = emitSumOfProducts(b, {part, columns}, products,
                                 {{m, l}, {l, n}, {m, n}});
  }
  return isOnly ? products : add(products, sums);
}

bool ProjectionTiles::addsProducts(bool isFirst) {
  // The rounding of sums is nothing to that of an input of bf16.
  return !isFirst && !(inPairs && numParts == 1);
}

Value ProjectionTiles::multiplyPack(OpFoldResult pack, OpFoldResult at,
                                    int64_t count, Value columns, Value sums,
                                    bool isFirst) {
  OpFoldResult zero = index(0), one = index(1), size = index(count),
               numRows = index(getRowsPerPack());
  AffineExpr m, n, k, p, e, part;
  bindDims(b.getContext(), m, n, k, p, e, part);
  bool isAdded = addsProducts(isFirst);
  Value products = sums;
  if (isAdded)
    products = b.empty(cast<RankedTensorType>(sums.getType()).getShape(),
                       b.getF32Type());
  if (isAdded || isFirst)
    products = b.fillWithZero(products);
  if (!inPairs) {
    Value a =
        b.slice(rows, {pack, at, zero}, {one, size, numRows}, {size, numRows});
    products =
        emitSumOfProducts(b, {a, columns}, products, {{k, m}, {k, n}, {m, n}});
    return isAdded ? add(products, sums) : products;
  }
  OpFoldResult features = index(kFeaturesPerTile), parts = index(numParts);
  SmallVector<OpFoldResult> kept = {size, parts, numRows, features};
  SmallVector<AffineExpr> indices = {k, part, m, p, e};
  if (numParts == 1) {
    kept.erase(kept.begin() + 1);
    indices.erase(indices.begin() + 1);
  }
  Value a = b.slice(rows, {pack, at, zero, zero, zero},
                    {one, size, parts, numRows, features}, kept);
  products = emitSumOfProducts(
      b, {expandDim(b, a, int64_t(kept.size()) - 1, 2), columns}, products,
      {indices, {k, p, n, e}, {m, n}});
  return isAdded ? add(products, sums) : products;
}

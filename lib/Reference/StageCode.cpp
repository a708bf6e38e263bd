//===- StageCode.cpp - Convolutions and mixing of heads -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/StageCode.h"
#include "lib/Online/OnlineInPairs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

Value StageCode::emitConvolution(Stages stages, Value strip) {
  auto type = cast<RankedTensorType>(strip.getType());
  int64_t keys = stages.getKeyHalo();
  int64_t heads = type.getDimSize(0);
  Value rows = dim(strip, 1), numKeys = dim(strip, 2);
  // T4: what is outside counts as 0. Rows of the kernel that reach no further
  // than there are left out.
  Value queries =
      arith::MinUIOp::create(b, loc, rows, index(stages.getQueryHalo()));
  Value kernel = emitLastRows(stages, add(queries, 1));
  Value padded = fill(empty({heads, add(rows, queries), add(numKeys, 2 * keys)},
                            type.getElementType()),
                      0.0);
  padded = insert(strip, padded, {{0, queries, keys}, {heads, rows, numKeys}});
  Value result = zerosLike(strip);
  if (cast<ShapedType>(stages.kernel.getType()).getRank() == 3) {
    AffineExpr h, r, j, a, c;
    bindDims(b.getContext(), h, r, j, a, c);
    return multiplyAdd({{h, r + a, j + c}, {h, a, c}, {h, r, j}},
                       {padded, kernel}, result);
  }
  AffineExpr g, o, r, j, e, a, c;
  bindDims(b.getContext(), g, o, r, j, e, a, c);
  int64_t mixed = stages.getNumMixedHeads();
  return join(multiplyAdd({{g, e, r + a, j + c}, {g, o, e, a, c}, {g, o, r, j}},
                          {split(padded, mixed), split(kernel, mixed)},
                          split(result, mixed)));
}

Value StageCode::emitLastRows(Stages stages, Value count) {
  auto sizes =
      llvm::to_vector_of<Number>(tensor::getMixedSizes(b, loc, stages.kernel));
  SmallVector<Number> offsets(sizes.size(), 0);
  std::size_t queries = sizes.size() - 2;
  offsets[queries] = subtract(index(stages.getQueryHalo() + 1), count);
  sizes[queries] = count;
  return extract(stages.kernel, {offsets, sizes});
}

Value StageCode::emitMixing(Stages stages, Value strip) {
  AffineExpr g, o, r, j, e;
  bindDims(b.getContext(), g, o, r, j, e);
  int64_t mixed = stages.getNumMixedHeads();
  return join(multiplyAdd({{g, e, r, j}, {g, e, o}, {g, o, r, j}},
                          {split(strip, mixed), stages.mixing},
                          split(zerosLike(strip), mixed)));
}

Value StageCode::split(Value tensor, int64_t mixed) {
  IndexBuilder builder(loc, b);
  return expandDim(builder, tensor, /*dim=*/0, mixed);
}

Value StageCode::join(Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  return tensor::CollapseShapeOp::create(b, loc, tensor, getHeadDims(rank));
}

SmallVector<ReassociationIndices> StageCode::getHeadDims(int64_t rank) {
  SmallVector<ReassociationIndices> result = {{0, 1}};
  for (int64_t dim = 2; dim < rank; ++dim)
    result.push_back({dim});
  return result;
}

Value StageCode::zerosLike(Value strip) {
  return fill(
      emptyLike(strip,
                cast<RankedTensorType>(strip.getType()).getElementType()),
      0.0);
}

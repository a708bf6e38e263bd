//===- OnlineInPairs.cpp - Products of a block of keys in pairs -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/OnlineInPairs.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/CachedRows.h"
#include "lib/Online/Sums.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kKeysPerPack = OnlineAttentionOp::kKeysPerPack;

Value attn::expandDim(IndexBuilder &b, Value tensor, int64_t dim,
                      ArrayRef<int64_t> inner) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = b.sizes(tensor);
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> expanded;
  int64_t product = 1;
  for (int64_t size : inner)
    product *= size;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    groups.push_back({int64_t(expanded.size())});
    if (i != dim) {
      expanded.push_back(sizes[i]);
      continue;
    }
    expanded.push_back(affine::makeComposedFoldedAffineApply(
        b, b.getLoc(), b.getAffineSymbolExpr(0).floorDiv(product), sizes[i]));
    for (int64_t size : inner) {
      groups.back().push_back(expanded.size());
      expanded.push_back(b.getIndexAttr(size));
    }
  }
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(expanded, dynamic, shape);
  return tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), tensor, groups,
      expanded);
}

/// The rows of whole packs.
static Value slicePackedRows(IndexBuilder &b, Value matrix,
                             OpFoldResult numPacks) {
  return takeRows(b, matrix,
                  b.apply(b.getAffineSymbolExpr(0) * kKeysPerPack, numPacks));
}

Value attn::emitScoresInPairs(IndexBuilder &b, Value key, Value query,
                              Value scores) {
  AffineExpr j, q, d, e;
  bindDims(b.getContext(), j, q, d, e);
  Value pairs = expandDim(b, key, 1, {2});
  return emitSumOfProducts(b, {pairs, query}, scores,
                           {{j, d, e}, {d, q, e}, {j, q}});
}

/// Makes rows [offset, offset + size) of weights those of hidden positions.
static Value hideRows(IndexBuilder &b, Value weights, OpFoldResult offset,
                      OpFoldResult size) {
  auto type = cast<RankedTensorType>(weights.getType());
  SmallVector<OpFoldResult> at = {offset, b.getIndexAttr(0)},
                            extent = {size, b.size(weights, 1)};
  Value rows = b.slice(weights, at, extent);
  Value hidden = b.real(type.getElementType(), -0.0);
  rows = b.fill(rows, hidden);
  return b.insert(rows, weights, at, extent);
}

Value attn::emitHiddenRows(IndexBuilder &b, Value weights, Value lead,
                           OpFoldResult numValues) {
  if (lead)
    weights = hideRows(b, weights, b.getIndexAttr(0), lead);
  AffineExpr n = b.getAffineSymbolExpr(0);
  OpFoldResult count =
      b.apply(n.ceilDiv(kKeysPerPack) * kKeysPerPack - n, numValues);
  return isZeroInteger(count) ? weights
                              : hideRows(b, weights, numValues, count);
}

Value attn::emitEmptyPacks(IndexBuilder &b, Type elementType, int64_t size,
                           int64_t maximumPacks, OpFoldResult numPacks) {
  Value all =
      b.empty(ArrayRef<int64_t>{maximumPacks, size, kKeysPerPack}, elementType);
  return takeRows(b, all, numPacks);
}

Value attn::emitPacks(IndexBuilder &b, Value value, int64_t maximumPacks,
                      OpFoldResult numPacks) {
  auto type = cast<RankedTensorType>(value.getType());
  Value init = emitEmptyPacks(b, type.getElementType(), type.getDimSize(1),
                              maximumPacks, numPacks);
  Value zero = b.real(type.getElementType(), 0.0);
  return linalg::PackOp::create(b, value, init, /*innerDimsPos=*/{0},
                                {b.getIndexAttr(kKeysPerPack)}, zero)
      .getResult();
}

Value attn::emitPackedRows(IndexBuilder &b, Value weights,
                           OpFoldResult numPacks) {
  return expandDim(b, slicePackedRows(b, weights, numPacks), 0, {kKeysPerPack});
}

Value attn::emitWeightsInPairs(IndexBuilder &b, Value weights,
                               OpFoldResult numPacks) {
  constexpr int64_t pairs = kKeysPerPack / 2;
  auto type = cast<RankedTensorType>(weights.getType());
  Value rows =
      expandDim(b, slicePackedRows(b, weights, numPacks), 0, {pairs, 2});
  Type bf16 = b.getBF16Type();
  int64_t maximumPacks = type.getDimSize(0) / kKeysPerPack;
  Value all = b.empty(
      ArrayRef<int64_t>{maximumPacks, pairs, type.getDimSize(1), 2}, bf16);
  Value init = takeRows(b, all, numPacks);
  AffineExpr t, p, q, e;
  bindDims(b.getContext(), t, p, q, e);
  return b.generic(rows, init, {{t, p, e, q}, {t, p, q, e}},
                   [&](ValueRange x) -> Value {
                     return arith::TruncFOp::create(b, bf16, x[0]);
                   });
}

Value attn::emitEmptyPairs(IndexBuilder &b, int64_t keys, int64_t lanes) {
  return b.empty(ArrayRef<int64_t>{keys / 2, lanes, 2}, b.getBF16Type());
}

Value attn::emitPackedPairs(IndexBuilder &b, Value pairs,
                            OpFoldResult numPacks) {
  constexpr int64_t rows = kKeysPerPack / 2;
  Value packed =
      takeRows(b, pairs, b.apply(b.getAffineSymbolExpr(0) * rows, numPacks));
  return expandDim(b, packed, 0, {rows});
}

Value attn::emitOutputInPairs(IndexBuilder &b, Value packs, Value weights,
                              Value accumulator) {
  AffineExpr d, q, t, p, e;
  bindDims(b.getContext(), d, q, t, p, e);
  Value pairs = expandDim(b, packs, 2, {2});
  return emitSumOfProducts(b, {pairs, weights}, accumulator,
                           {{t, d, p, e}, {t, p, q, e}, {d, q}});
}

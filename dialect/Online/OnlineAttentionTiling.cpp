//===- OnlineAttentionTiling.cpp - Tiling of attn.online_attention --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The one loop of the op runs over the keys and is a reduction.
//
//   in order:  blocks of keys take the state from one to the next
//   partial:   chunks of keys have a state each, merged by log-sum-exp,
//
//     m    = max over n of m[n]
//     l    = sum over n of exp(m[n] - m) * l[n]
//     O[d] = sum over n of exp(m[n] - m) * O[n,d]
//
// where the op's own initial state is one more n. In rows, O[n] is (q, d), with
// fewer queries q than m and l have lanes.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/CreateGeneric.h"
#include "dialect/Shared/KnownSizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Rows [offset, offset + size) of a matrix, or of its scales.
tensor::ExtractSliceOp sliceRows(OpBuilder &b, Location loc, Value rows,
                                 OpFoldResult offset, OpFoldResult size) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, rows),
                            offsets(sizes.size(), b.getIndexAttr(0)),
                            strides(sizes.size(), b.getIndexAttr(1));
  offsets[0] = offset;
  sizes[0] = size;
  return tensor::ExtractSliceOp::create(b, loc, rows, offsets, sizes, strides);
}

/// The packs of keys [offset, offset + size) of the values in pairs.
tensor::ExtractSliceOp slicePacks(OpBuilder &b, Location loc, Value packs,
                                  OpFoldResult offset, OpFoldResult size) {
  constexpr int64_t keys = OnlineAttentionOp::kKeysPerPack;
  AffineExpr s = b.getAffineSymbolExpr(0);
  OpFoldResult first =
      affine::makeComposedFoldedAffineApply(b, loc, s.floorDiv(keys), offset);
  OpFoldResult count =
      affine::makeComposedFoldedAffineApply(b, loc, s.ceilDiv(keys), size);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t valueSize = cast<RankedTensorType>(packs.getType()).getDimSize(1);
  return tensor::ExtractSliceOp::create(
      b, loc, packs, {first, zero, zero},
      {count, b.getIndexAttr(valueSize), b.getIndexAttr(keys)},
      {one, one, one});
}

/// The op on some of its keys, with another state.
FailureOr<OnlineAttentionOp> tileKeys(OpBuilder &b, OnlineAttentionOp op,
                                      OpFoldResult offset, OpFoldResult size,
                                      ValueRange state,
                                      SmallVector<Operation *> &slices) {
  Location loc = op.getLoc();
  if (op.isDelayed())
    return op.emitOpError("is a block already, whose product is delayed: "
                          "expected no tiles of it");
  if (op.getPackedValues() &&
      !isKnownMultiple(offset, OnlineAttentionOp::kKeysPerPack))
    return op.emitOpError()
           << "with packed_values, expected tiles that begin at multiples of "
           << OnlineAttentionOp::kKeysPerPack << " keys";
  tensor::ExtractSliceOp key = sliceRows(b, loc, op.getKey(), offset, size);
  tensor::ExtractSliceOp value =
      op.getPackedValues() ? slicePacks(b, loc, op.getValue(), offset, size)
                           : sliceRows(b, loc, op.getValue(), offset, size);
  slices.append({key, value});
  if (op.getKeyScales())
    for (Value scales : {op.getKeyScales(), op.getValueScales()})
      slices.push_back(sliceRows(b, loc, scales, offset, size));
  Value firstKey = b.createOrFold<arith::AddIOp>(
      loc, op.getFirstKey(), getValueOrCreateConstantIndexOp(b, loc, offset));
  auto tile = cast<OnlineAttentionOp>(b.clone(*op));
  tile.getKeyMutable().assign(key);
  tile.getValueMutable().assign(value);
  if (op.getKeyScales()) {
    tile.getKeyScalesMutable().assign(slices[slices.size() - 2]->getResult(0));
    tile.getValueScalesMutable().assign(slices.back()->getResult(0));
  }
  tile.getOutsMutable().assign(state);
  tile.getFirstKeyMutable().assign(firstKey);
  for (auto [result, init] : llvm::zip(tile.getResults(), state))
    result.setType(cast<RankedTensorType>(init.getType()));
  return tile;
}

/// Entry `number` of a stack of partial states.
Value sliceState(OpBuilder &b, Location loc, Value states, OpFoldResult number,
                 RankedTensorType type) {
  SmallVector<OpFoldResult> offsets(type.getRank() + 1, b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1)};
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  SmallVector<OpFoldResult> strides(type.getRank() + 1, b.getIndexAttr(1));
  offsets[0] = number;
  return tensor::ExtractSliceOp::create(b, loc, type, states, offsets, sizes,
                                        strides);
}

/// The rescale factors of maxima, `(L)` or a stack `(N, L)`, to the whole,
/// `(L)`.
Value emitRescaleFactors(OpBuilder &b, Location loc, Value maxima,
                         Value whole) {
  auto type = cast<RankedTensorType>(maxima.getType());
  unsigned rank = type.getRank();
  Value init = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, maxima), type.getElementType());
  AffineMap all = b.getMultiDimIdentityMap(rank);
  AffineMap lanes = AffineMap::get(rank, 0, b.getAffineDimExpr(rank - 1));
  return createGeneric(
      b, loc, {maxima, whole}, init, {all, lanes, all}, [&](ValueRange e) {
        return OnlineAttentionOp::createRescaleFactor(b, loc, e[0], e[1]);
      });
}

/// A state, of which `dim` are the queries, times their factors.
Value emitRescaled(OpBuilder &b, Location loc, Value factors, Value state,
                   unsigned dim) {
  unsigned rank = cast<RankedTensorType>(state.getType()).getRank();
  AffineMap lanes = AffineMap::get(rank, 0, b.getAffineDimExpr(dim));
  return createGeneric(b, loc, factors, state,
                       {lanes, b.getMultiDimIdentityMap(rank)},
                       [&](ValueRange e) -> Value {
                         return arith::MulFOp::create(b, loc, e[0], e[1]);
                       });
}

/// Whether a tensor is filled with a constant that `pattern` matches.
template <typename Pattern>
bool isFilledWith(Value tensor, const Pattern &pattern) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.value(), pattern);
}

} // namespace

Value OnlineAttentionOp::createRescaleFactor(OpBuilder &b, Location loc,
                                             Value part, Value whole) {
  Value same =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, part, whole);
  Value one =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(part.getType(), 1.0));
  // As a power of 2, which has a vector form that is right for any number.
  Value log2E = arith::ConstantOp::create(
      b, loc, b.getFloatAttr(part.getType(), std::numbers::log2e));
  Value exponent = arith::MulFOp::create(
      b, loc, arith::SubFOp::create(b, loc, part, whole), log2E);
  Value factor = math::Exp2Op::create(b, loc, exponent);
  return arith::SelectOp::create(b, loc, same, one, factor);
}

//===----------------------------------------------------------------------===//
// Blocks of keys, in order
//===----------------------------------------------------------------------===//

SmallVector<utils::IteratorType> OnlineAttentionOp::getLoopIteratorTypes() {
  return {utils::IteratorType::reduction};
}

SmallVector<Range> OnlineAttentionOp::getIterationDomain(OpBuilder &b) {
  OpFoldResult keys = tensor::getMixedSize(b, getLoc(), getKey(), 0);
  return {{b.getIndexAttr(0), keys, b.getIndexAttr(1)}};
}

FailureOr<TilingResult>
OnlineAttentionOp::getTiledImplementation(OpBuilder &b,
                                          ArrayRef<OpFoldResult> offsets,
                                          ArrayRef<OpFoldResult> sizes) {
  TilingResult result;
  FailureOr<OnlineAttentionOp> tile = tileKeys(
      b, *this, offsets[0], sizes[0], getOuts(), result.generatedSlices);
  if (failed(tile))
    return failure();
  result.tiledOps.push_back(*tile);
  result.tiledValues.assign((*tile)->result_begin(), (*tile)->result_end());
  return result;
}

LogicalResult OnlineAttentionOp::getResultTilePosition(
    OpBuilder &b, unsigned number, ArrayRef<OpFoldResult>,
    ArrayRef<OpFoldResult>, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  for (int64_t size :
       cast<ShapedType>(getOuts()[number].getType()).getShape()) {
    resultOffsets.push_back(b.getIndexAttr(0));
    resultSizes.push_back(b.getIndexAttr(size));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Chunks of keys, merged
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
OnlineAttentionOp::generateInitialTensorForPartialReduction(
    OpBuilder &b, Location loc, ArrayRef<OpFoldResult> tileSizes,
    const SetVector<unsigned> &) {
  double initial[] = {0.0, -std::numeric_limits<double>::infinity(), 0.0};
  SmallVector<Value> states;
  for (auto [init, number] : llvm::zip(getOuts(), initial)) {
    auto type = cast<RankedTensorType>(init.getType());
    SmallVector<OpFoldResult> sizes = {tileSizes[0]};
    for (int64_t size : type.getShape())
      sizes.push_back(b.getIndexAttr(size));
    Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    Value constant = arith::ConstantOp::create(
        b, loc, b.getFloatAttr(type.getElementType(), number));
    states.push_back(
        linalg::FillOp::create(b, loc, constant, empty).getResult(0));
  }
  return states;
}

FailureOr<TilingResult> OnlineAttentionOp::tileToPartialReduction(
    OpBuilder &b, Location loc, ReductionTilingStrategy strategy,
    ValueRange init, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &,
    ArrayRef<OpFoldResult> splitReductionIvs) {
  if (strategy != ReductionTilingStrategy::PartialReductionOuterParallel)
    return emitOpError("expected partial reductions of whole chunks of keys");
  SmallVector<Value> state;
  for (Value states : init) {
    auto type = cast<RankedTensorType>(states.getType());
    state.push_back(
        sliceState(b, loc, states, splitReductionIvs[0],
                   RankedTensorType::get(type.getShape().drop_front(),
                                         type.getElementType())));
  }
  TilingResult result;
  for (Value slice : state)
    result.generatedSlices.push_back(slice.getDefiningOp());
  FailureOr<OnlineAttentionOp> tile =
      tileKeys(b, *this, offsets[0], sizes[0], state, result.generatedSlices);
  if (failed(tile))
    return failure();
  result.tiledOps.push_back(*tile);
  result.tiledValues.assign((*tile)->result_begin(), (*tile)->result_end());
  return result;
}

LogicalResult OnlineAttentionOp::getPartialResultTilePosition(
    OpBuilder &b, unsigned number, ReductionTilingStrategy,
    ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &, ArrayRef<OpFoldResult> splitReductionIvs,
    SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  // Asked of an op whose outs are the partial states already.
  unsigned rank = number == 0 ? 2 : 1;
  ArrayRef<int64_t> shape =
      cast<ShapedType>(getOuts()[number].getType()).getShape().take_back(rank);
  resultOffsets.assign(rank + 1, b.getIndexAttr(0));
  resultOffsets.front() = splitReductionIvs[0];
  resultSizes = {b.getIndexAttr(1)};
  for (int64_t size : shape)
    resultSizes.push_back(b.getIndexAttr(size));
  return success();
}

FailureOr<MergeResult>
OnlineAttentionOp::mergeReductions(OpBuilder &b, Location loc,
                                   ValueRange partialReduce,
                                   const SetVector<unsigned> &) {
  Value accumulators = partialReduce[0], maxima = partialReduce[1],
        sums = partialReduce[2];
  AffineExpr n, x, y;
  bindDims(getContext(), n, x, y);
  auto map = [&](unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, getContext());
  };
  // Loops (n, q), then (n, d, q), or (n, q, d) where queries have rows.
  AffineMap state = map(2, {n, x}), lanes = map(2, {x});
  AffineMap state3 = map(3, {n, hasRowPerQuery() ? x : y});
  AffineMap stack = map(3, {n, x, y}), matrix = map(3, {x, y});

  // The lanes of factors that are those of queries of O.
  auto queries = [&](Value factors) -> Value {
    if (!hasRowPerQuery())
      return factors;
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, factors);
    sizes.back() = b.getIndexAttr(getNumRows());
    SmallVector<OpFoldResult> zeros(sizes.size(), b.getIndexAttr(0)),
        ones(sizes.size(), b.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(b, loc, factors, zeros, sizes, ones);
  };

  Value whole = createGeneric(
      b, loc, maxima, getMaximum(), {state, lanes}, [&](ValueRange e) -> Value {
        return arith::MaximumFOp::create(b, loc, e[0], e[1]);
      });

  // The op's own state, in the units of the whole maximum; nothing is 0 in any.
  Value sum = getSum(), accumulator = getAccumulator();
  if (!isFilledWith(getMaximum(), m_NegInfFloat()) ||
      !isFilledWith(sum, m_AnyZeroFloat()) ||
      !isFilledWith(accumulator, m_AnyZeroFloat())) {
    Value own = emitRescaleFactors(b, loc, getMaximum(), whole);
    sum = emitRescaled(b, loc, own, sum, /*dim=*/0);
    accumulator = emitRescaled(b, loc, queries(own), accumulator,
                               /*dim=*/hasRowPerQuery() ? 0 : 1);
  }

  // Elements: factor, partial, whole.
  auto addRescaled = [&](ValueRange e) -> Value {
    Value product = arith::MulFOp::create(b, loc, e[0], e[1]);
    return arith::AddFOp::create(b, loc, e[2], product);
  };
  Value factors = emitRescaleFactors(b, loc, maxima, whole);
  sum = createGeneric(b, loc, {factors, sums}, sum, {state, state, lanes},
                      addRescaled);
  accumulator =
      createGeneric(b, loc, {queries(factors), accumulators}, accumulator,
                    {state3, stack, matrix}, addRescaled);
  return MergeResult{
      {whole.getDefiningOp(), sum.getDefiningOp(), accumulator.getDefiningOp()},
      {accumulator, whole, sum}};
}

//===- QueryTiles.cpp - Derivatives of attention, tile by tile ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/QueryTiles.h"
#include "lib/Online/OnlineInPairs.h"
#include "lib/Online/StoredElements.h"
#include "lib/Online/Sums.h"
#include "lib/Plan/Plan.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/RegionDerivative.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kKeysPerPack = OnlineAttentionOp::kKeysPerPack;

template <typename Op>
QueryTiles<Op>::QueryTiles(Op op, OpBuilder &builder)
    : op(op), b(op.getLoc(), builder), type(op.getAccumulationType()),
      lanes(getPlan(op).getRows()), keys(getPlan(op).getKeys()),
      keySize(op.getQueryType().getDimSize(3)),
      valueSize(op.getValueType().getDimSize(3)),
      isNarrow(op.getElementType() != type),
      isInPairs(getPlan(op).getLayout() == OnlineLayout::Pairs),
      isPacked(getPlan(op).getPacks().has_value()) {}

template <typename Op> Value QueryTiles<Op>::emitScale() {
  Value scale = op.getScale();
  return scale ? scale : real(*op.getConstantScale());
}

template <typename Op> OpFoldResult QueryTiles<Op>::emitNumSequences() {
  if (op.isPacked())
    return b.sub(b.size(op.getCumulativeQuery(), 0), 1);
  return b.size(op.getQuery(), 0);
}

template <typename Op> DerivativeUnit QueryTiles<Op>::emitUnit(Value n) {
  return {emitSequence(b, op, n), Value()};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// A matrix with rows of 0 from a number on.
template <typename Op>
Value QueryTiles<Op>::fillRows(Value matrix, OpFoldResult first,
                               OpFoldResult count) {
  if (isZeroInteger(count))
    return matrix;
  SmallVector<OpFoldResult> at = {first, b.getIndexAttr(0)},
                            extent = {count, b.size(matrix, 1)};
  return b.insert(b.fill(b.slice(matrix, at, extent), 0.0), matrix, at, extent);
}

/// Rows of queries in the type of sums, with 0 where there are none: `(L, D)`.
template <typename Op>
Value QueryTiles<Op>::emitPadded(Value rows, ArrayRef<OpFoldResult> offsets,
                                 OpFoldResult count, int64_t size, Value factor,
                                 Type element) {
  OpFoldResult one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = {count, b.getIndexAttr(size)};
  Value source =
      b.slice(rows, offsets, {one, one, sizes[0], sizes[1]}, /*rank=*/2);
  Value padded =
      fillRows(b.empty(ArrayRef<int64_t>{lanes, size}, element), count,
               b.apply(-b.getAffineSymbolExpr(0) + lanes, {count}));
  Value part = b.slice(padded, b.zeros(2), sizes);
  part = b.map({source}, part, [&](ValueRange args) {
    Value number = b.convert(args[0], element);
    return factor ? b.mulF(number, factor) : number;
  });
  return b.insert(part, padded, b.zeros(2), sizes);
}

/// The same, times the scale if that is not left to the products, in the type
/// that is multiplied.
template <typename Op>
Value QueryTiles<Op>::emitFactors(Value rows, ArrayRef<OpFoldResult> offsets,
                                  OpFoldResult count, int64_t size,
                                  bool scaled) {
  return isInPairs ? emitPadded(rows, offsets, count, size, Value(),
                                op.getElementType())
                   : emitPadded(rows, offsets, count, size,
                                scaled ? scale : Value(), type);
}

/// Such rows as what keys or values are multiplied with: `(D, L)`, or, in
/// pairs, `(D/2, L, 2)`.
template <typename Op> Value QueryTiles<Op>::toColumns(Value factors) {
  if (!isInPairs)
    return b.transpose(factors, {1, 0});
  return b.transpose(expandDim(b, factors, 1, {2}), {1, 0, 2});
}

/// Such rows as what is summed over queries: as they are, or, in pairs,
/// `(L/2, D, 2)`.
template <typename Op> Value QueryTiles<Op>::toRows(Value factors) {
  return isInPairs ? emitPairsOfRows(factors, b.getIndexAttr(lanes), lanes)
                   : factors;
}

/// The first rows of a matrix `(n, D)`, an even number of at most `most`, as
/// `(n/2, D, 2)`.
template <typename Op>
Value QueryTiles<Op>::emitPairsOfRows(Value matrix, OpFoldResult count,
                                      int64_t most) {
  ArrayRef<int64_t> shape = cast<ShapedType>(matrix.getType()).getShape();
  AffineExpr half = b.getAffineSymbolExpr(0).floorDiv(2);
  SmallVector<OpFoldResult> sizes = {count, b.getIndexAttr(shape[1])};
  Value pairs = expandDim(b, b.slice(matrix, b.zeros(2), sizes), 0, {2});
  Value all = b.empty(ArrayRef<int64_t>{most / 2, shape[1], 2},
                      GradientBuilder::elementOf(matrix));
  Value init = b.slice(all, b.zeros(3),
                       {b.apply(half, {count}), sizes[1], b.getIndexAttr(2)});
  AffineExpr t, d, e;
  bindDims(b.getContext(), t, d, e);
  return b.generic(pairs, init, {{t, e, d}, {t, d, e}},
                   [](ValueRange args) { return args[0]; });
}

/// +inf where there is no query, or none that sees anything: weights are 0.
template <typename Op>
Value QueryTiles<Op>::emitLogSumExp(ArrayRef<OpFoldResult> offsets,
                                    OpFoldResult count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  OpFoldResult one = b.getIndexAttr(1);
  Value source = b.slice(op.getLogSumExp(), offsets.drop_back(),
                         {one, one, count}, /*rank=*/1);
  Value padded = b.fill(empty({lanes}), kInfinity);
  Value part = b.slice(padded, b.zeros(1), count);
  part = b.map({source}, part, [&](ValueRange args) {
    Value isNone = b.isEqualF(args[0], real(-kInfinity));
    return b.select(isNone, real(kInfinity), args[0]);
  });
  return b.insert(part, padded, b.zeros(1), count);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The keys that the mask may keep, and those before them in the same pack.
template <typename Op>
std::pair<Value, Value> QueryTiles<Op>::emitVisible(const DerivativeUnit &unit,
                                                    const QueryTile &tile) {
  Value length = b.index(unit.keyLength);
  if (!op.hasMask())
    return {b.index(0), length};
  VisibleKeys visible = emitVisibleKeys(
      b, b.getLoc(), op.getMask(), unit.number, tile.head,
      {tile.position, b.sub(b.add(tile.position, tile.count), 1)}, length,
      op.getMaskCaptures());
  Value begin = visible.begin;
  if (isPacked)
    begin = b.sub(begin, b.rem(begin, kKeysPerPack));
  return {begin, visible.end};
}

/// A block, unless the mask hides all of it.
template <typename Op>
SmallVector<Value>
QueryTiles<Op>::emitUnlessHidden(const DerivativeUnit &unit,
                                 const QueryTile &tile, Value firstKey,
                                 Value end, ValueRange carried,
                                 function_ref<SmallVector<Value>()> emitBlock) {
  AffineExpr last = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
  numKeys =
      b.minimum({last - from, b.getAffineConstantExpr(keys)}, {end, firstKey});
  std::optional<int64_t> length = getConstantIntValue(end);
  if (!op.hasMask() && length && *length % keys == 0)
    numKeys = b.getIndexAttr(keys); // Blocks begin with the first key.
  RegionTile region;
  region.batch = unit.number;
  region.head = tile.head;
  region.positions = {tile.position,
                      b.sub(b.add(tile.position, tile.count), 1)};
  region.keys = {firstKey, b.sub(b.add(firstKey, numKeys), 1)};
  isPartial = b.boolean(false);
  isDefined = b.boolean(true);
  Value isHidden;
  Location loc = b.getLoc();
  if (op.hasMask()) {
    region.captures = op.getMaskCaptures();
    BlockVerdict verdict = emitBlockVerdict(b, loc, op.getMask(), region);
    isHidden = verdict.isEmpty;
    isPartial = b.createOrFold<arith::XOrIOp>(verdict.isFull, isDefined);
    isDefined = emitIsDefined(b, loc, op.getMask(), region);
  }
  if (op.hasScore()) {
    region.captures = op.getScoreCaptures();
    isDefined =
        b.bitAnd(isDefined, emitIsDefined(b, loc, op.getScore(), region));
  }
  if (!isHidden || matchPattern(isHidden, m_Zero()))
    return emitBlock();
  Value isSeen = b.createOrFold<arith::XOrIOp>(isHidden, b.boolean(true));
  return b.branch(isSeen, carried, emitBlock);
}

/// Keys or values of the block in the type that is multiplied.
template <typename Op>
Value QueryTiles<Op>::emitRowsOfBlock(Value rows, const DerivativeUnit &unit,
                                      Value firstKey, int64_t size) {
  OpFoldResult one = b.getIndexAttr(1), columns = b.getIndexAttr(size);
  Value block = b.slice(rows,
                        {unit.keyBatch, unit.keyHead,
                         b.add(unit.keyBegin, firstKey), b.getIndexAttr(0)},
                        {one, one, numKeys, columns}, /*rank=*/2);
  if (!isNarrow || isInPairs)
    return block;
  Value init = b.slice(empty({keys, size}), b.zeros(2), {numKeys, columns});
  return emitElements(b, block, /*scales=*/Value(), init);
}

/// Fetches as many rows as a block may have while the next product is computed,
/// which does not read them, where what a block reads of keys, values and their
/// tangents is more than the first-level cache holds.
template <typename Op>
void QueryTiles<Op>::emitFetch(Value rows, const DerivativeUnit &unit,
                               Value firstKey) {
  int64_t bits = op.getKeyType().getElementTypeBitWidth();
  if (isNarrow && !isInPairs) // What they are converted to, too.
    bits += int64_t(type.getIntOrFloatBitWidth());
  int64_t bytes = 2 * keys * (keySize + valueSize) * bits / 8;
  if (bytes <= getTarget(op).getL1Bytes())
    return;
  Value first = b.add(b.index(unit.keyBegin), firstKey);
  PrefetchOp::create(b, rows,
                     ValueRange{b.index(unit.keyBatch), unit.keyHead, first},
                     b.add(first, keys))
      .setSpread(true);
}

/// Rows of the block times columns of the tile, in the first rows of a tensor
/// of a row for each key that a block may have.
template <typename Op>
Value QueryTiles<Op>::multiply(Value rows, Value columns) {
  Value all = empty({keys, lanes});
  Value part = b.fill(firstRows(all), 0.0);
  return multiplyAdd(rows, columns, part, all);
}

/// `sums` with the products of rows `(j, d)` and columns added.
template <typename Op>
Value QueryTiles<Op>::multiplyAdd(Value rows, Value columns, Value sums) {
  if (isInPairs)
    return emitScoresInPairs(b, rows, columns, sums);
  return linalg::MatmulOp::create(b, b.getLoc(), sums.getType(),
                                  ValueRange{rows, columns}, ValueRange{sums})
      .getResult(0);
}

/// The same, added to `part`, the first rows of `all`.
template <typename Op>
Value QueryTiles<Op>::multiplyAdd(Value rows, Value columns, Value part,
                                  Value all) {
  part = multiplyAdd(rows, columns, part);
  return b.insert(part, all, b.zeros(2), sizes());
}

/// A derivative of the score at the products; null if it is 1.
template <typename Op>
Value QueryTiles<Op>::emitSlopes(const DerivativeUnit &unit,
                                 const QueryTile &tile, Value firstKey,
                                 Value products, Region &slope) {
  if (!op.hasScore())
    return {};
  if (std::optional<double> constant = getConstantYield(slope);
      constant && *constant == 1.0)
    return {};
  return evaluate(unit, tile, firstKey, products, slope, op.getScoreCaptures());
}

/// What a region like the score yields at the products; anything where the mask
/// hides what it may be undefined at (A12).
template <typename Op>
Value QueryTiles<Op>::evaluate(const DerivativeUnit &unit,
                               const QueryTile &tile, Value firstKey,
                               Value products, Region &region,
                               ValueRange captures) {
  Value copy =
      linalg::CopyOp::create(b, products, empty({keys, lanes})).getResult(0);
  return emitRegions(unit, tile, firstKey, {copy}, region, captures,
                     /*rounded=*/false, /*masked=*/mayBeUndefined(region));
}

/// The weights of the products, relative to the log-sum-exp.
template <typename Op>
Value QueryTiles<Op>::emitWeights(const DerivativeUnit &unit,
                                  const QueryTile &tile, Value firstKey,
                                  Value products) {
  // The tangent of the log-sum-exp is of weights that nothing rounds.
  bool rounded = isInPairs;
  if constexpr (std::is_same_v<Op, AttentionTangentOp>)
    rounded &= !op.getLogSumExpTangent();
  return emitRegions(unit, tile, firstKey, {products, tile.logSumExp},
                     op.getScore(), op.getScoreCaptures(), rounded,
                     /*masked=*/true);
}

template <typename Op>
Value QueryTiles<Op>::emitRegions(const DerivativeUnit &unit,
                                  const QueryTile &tile, Value firstKey,
                                  ValueRange outs, Region &score,
                                  ValueRange scoreCaptures, bool rounded,
                                  bool masked) {
  Value no = b.boolean(false);
  auto softmax = OnlineSoftmaxOp::create(
      b, TypeRange(outs), outs, unit.number, tile.head, tile.position, firstKey,
      b.index(tile.count), b.index(numKeys), masked ? isPartial : no, isDefined,
      /*exact=*/no, /*scale=*/isInPairs ? scale : Value(), scoreCaptures,
      masked ? ValueRange(op.getMaskCaptures()) : ValueRange(),
      /*in_order=*/false, rounded);
  IRMapping mapping;
  score.cloneInto(&softmax.getScoreRegion(), mapping);
  if (masked)
    op.getMask().cloneInto(&softmax.getMaskRegion(), mapping);
  return softmax.getResult(0);
}

/// What the dropout multiplies each weight by (A8).
template <typename Op>
Value QueryTiles<Op>::emitDropout(const DerivativeUnit &unit,
                                  const QueryTile &tile, Value firstKey) {
  Value line = op.createDropoutLine(b, unit.number, tile.head);
  firstKey = op.createDropoutKey(b, unit.number, firstKey);
  Value ones = b.fill(empty({keys, lanes}), 1.0);
  return OnlineDropoutOp::create(b, TypeRange(ones), ones, op.getDropoutSeed(),
                                 op.getDropoutCall(), line, tile.position,
                                 firstKey, b.index(numKeys),
                                 op.getDropoutRateAttr())
      .getResult(0);
}

/// The product of the first rows of two, in those of `init`.
template <typename Op>
Value QueryTiles<Op>::multiplyInto(Value x, Value y, Value init) {
  Value part = b.map({firstRows(x), firstRows(y)}, firstRows(init),
                     [&](ValueRange args) { return b.mulF(args[0], args[1]); });
  return b.insert(part, init, b.zeros(2), sizes());
}

/// Rows of the block's keys, with one of 0 after an odd number.
template <typename Op> Value QueryTiles<Op>::copyRows(Value rows) {
  if (isZeroInteger(getNumMissing()))
    return rows;
  SmallVector<OpFoldResult> sizes = b.sizes(rows);
  Value all = b.empty({b.getIndexAttr(keys), sizes[1]}, op.getElementType());
  Value part = b.slice(all, b.zeros(2), sizes);
  part = linalg::CopyOp::create(b, rows, part).getResult(0);
  return fillRows(b.insert(part, all, b.zeros(2), sizes), numKeys,
                  getNumMissing());
}

/// The first rows of a matrix, one for each key of the block and those of 0
/// after them, in pairs.
template <typename Op> Value QueryTiles<Op>::emitPairsOfKeys(Value matrix) {
  AffineExpr n = b.getAffineSymbolExpr(0);
  int64_t whole = isPacked ? kKeysPerPack : 2;
  return emitPairsOfRows(matrix, b.apply(n.ceilDiv(whole) * whole, {numKeys}),
                         keys);
}

/// Of rows to a number that fills pairs, or packs.
template <typename Op> OpFoldResult QueryTiles<Op>::getNumMissing() {
  AffineExpr n = b.getAffineSymbolExpr(0);
  int64_t whole = isPacked ? kKeysPerPack : 2;
  return b.apply(n.ceilDiv(whole) * whole - n, {numKeys});
}

/// The first rows of a matrix as products take them: in pairs, rounded, once
/// they are multiplied by the factor, if that is given.
template <typename Op> Value QueryTiles<Op>::round(Value matrix, Value factor) {
  if (!isInPairs)
    return matrix;
  return mapRounded({firstRows(matrix)}, {}, [&](ValueRange args) {
    return factor ? b.mulF(args[0], factor) : args[0];
  });
}

/// What a body makes of first rows, rounded. Rows of 0 follow that pairs of
/// keys, or packs, are filled with.
template <typename Op>
Value QueryTiles<Op>::mapRounded(ValueRange inputs, ArrayRef<AffineMap> maps,
                                 function_ref<Value(ValueRange)> body) {
  Type element = op.getElementType();
  Value all = b.empty(ArrayRef<int64_t>{keys, lanes}, element);
  Value part = b.map(
      inputs, firstRows(all),
      [&](ValueRange args) { return b.convert(body(args), element); }, maps);
  return fillRows(b.insert(part, all, b.zeros(2), sizes()), numKeys,
                  getNumMissing());
}

/// Sums of 0 for `addTransposed`: `(D, L)`, or, in pairs that are not packed,
/// `(L, D)`.
template <typename Op> Value QueryTiles<Op>::emitZeros(int64_t size) {
  return b.fill(
      sumsOfKeysAreRows() ? empty({lanes, size}) : empty({size, lanes}), 0.0);
}

/// Rows `(..., n, D)` as packs `(..., n/32, D, 32)`.
template <typename Op> Value QueryTiles<Op>::emitPacksOfKeys(Value rows) {
  int64_t dim = cast<ShapedType>(rows.getType()).getRank() - 2;
  OpFoldResult size = b.getIndexAttr(kKeysPerPack);
  Value init = linalg::PackOp::createDestinationTensor(b, b.getLoc(), rows,
                                                       size, dim, {});
  return linalg::PackOp::create(b, rows, init, dim, size,
                                b.zero(op.getElementType()))
      .getResult();
}

/// Those of the block, of a tensor of packs at `at`.
template <typename Op>
Value QueryTiles<Op>::slicePacks(Value packs, ArrayRef<OpFoldResult> at,
                                 Value firstKey) {
  AffineExpr n = b.getAffineSymbolExpr(0);
  SmallVector<OpFoldResult> offsets(at), sizes = b.ones(at.size()),
                                         all = b.sizes(packs);
  offsets.append({b.apply(n.floorDiv(kKeysPerPack), {firstKey}),
                  b.getIndexAttr(0), b.getIndexAttr(0)});
  sizes.append({b.apply(n.ceilDiv(kKeysPerPack), {numKeys}), all.end()[-2],
                all.end()[-1]});
  return b.slice(packs, offsets, sizes, /*rank=*/3);
}

/// `sums (d, q) += rows (j, d) * factors (j, q)`, or, in pairs that are not
/// packed, `(q, d)`; in pairs, of factors that are rounded, and of packs of the
/// rows if these are given, or are made here.
template <typename Op>
Value QueryTiles<Op>::addTransposed(Value rows, Value packs, Value factors,
                                    Value sums) {
  if (isPacked) {
    if (!packs) {
      AffineExpr n = b.getAffineSymbolExpr(0);
      packs = emitPacks(b, rows, keys / kKeysPerPack,
                        b.apply(n.ceilDiv(kKeysPerPack), {numKeys}));
    }
    Value pairs = expandDim(b, emitPairsOfKeys(factors), 0, {kKeysPerPack / 2});
    return emitOutputInPairs(b, packs, pairs, sums);
  }
  if (isInPairs) {
    AffineExpr q, d, t, e;
    bindDims(b.getContext(), q, d, t, e);
    Value pairs[] = {emitPairsOfKeys(factors), emitPairsOfKeys(copyRows(rows))};
    return emitSumOfProducts(b, pairs, sums, {{t, q, e}, {t, d, e}, {q, d}});
  }
  return linalg::MatmulTransposeAOp::create(
             b, b.getLoc(), sums.getType(),
             ValueRange{rows, firstRows(factors)}, ValueRange{sums})
      ->getResult(0);
}

/// Of the keys that the block has.
template <typename Op> Value QueryTiles<Op>::firstRows(Value matrix) {
  return b.slice(matrix, b.zeros(2), sizes());
}

template class attn::QueryTiles<AttentionBackwardOp>;
template class attn::QueryTiles<AttentionTangentOp>;
